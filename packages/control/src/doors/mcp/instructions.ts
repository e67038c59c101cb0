/** Many clients show a model only this and the tools' names until a tool is needed: so the way of working stands here. */
export const instructions = `Holdfast gives you durable Linux computers (Debian 12 with git, curl, Python 3, Node 24; you are root inside). Files, packages and services stay until you destroy the computer, also when this conversation ends.

How to work:
1. computer_list: reuse a computer you have. computer_create {name} makes one. Most tools take \`computer\` by name or id.
2. exec {computer, command} runs a shell line and answers output and exit code. It waits up to wait_ms (30 s, at most 50 s), then answers a process id and the command runs on: process_get waits for the end, process_output reads on, process_signal ends it.
3. Anything with an address (site, app, API, webhook) is a project: project_create {computer, name, template} makes /work/<name>, runs it and answers its URL, the same for life. Edit the files, then project_deploy {project}: it commits and restarts. project_restore brings back a version. Look at it: curl -H "Holdfast-Key: <your key>" <address>. It is private: hand the address to an owner, who alone can publish it (holdfast projects publish <slug>).
4. Anything else that should always run (bot, worker) is a service: service_create {computer, name, command}. It is restarted when it ends. service_logs shows why one is not ready, a project's too.
5. file_write, file_edit, file_read, file_list: keep files under /work.
6. A computer sleeps when nothing happens and wakes when it is used; hold_create keeps it awake. computer_stop keeps only the disk, computer_destroy deletes all.
7. What should run at set times, also while nobody is connected: schedule_create {computer, name, cron, command}; run_list, run_output. Before a risk: snapshot_create (back: snapshot_restore), or computer_fork for a copy. Helpers: child_create; offer_diff, offer_accept take what they made.

Long answers are cut: read on with the cursor or offset they name. Errors say what to do next. When a call may have been lost, repeat it with the same idempotency_key: nothing is done twice. whoami shows your limits.`;
