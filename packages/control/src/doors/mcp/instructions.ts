/** Many clients show a model only this and the tools' names until a tool is needed: so the way of working stands here. */
export const instructions = `Holdfast gives you durable Linux computers (Debian 12 with git, curl, Python 3 and Node 24; you are root inside). Files, installed packages and services stay until you destroy the computer, also when this conversation or the server ends.

How to work:
1. computer_list: reuse a computer you have. computer_create {name} makes one. Most tools take \`computer\` by name or id.
2. exec {computer, command} runs a shell line and answers output and exit code. It waits up to wait_ms (30 s, at most 50 s); if the command is still running you get its process id: process_get {process, wait_ms} waits for the end, process_output {process, cursor} reads on, process_signal ends it. It keeps running either way. For something long, process_start answers at once.
3. Something that should always run (a web server, a bot, a worker) is a service: service_create {computer, name, command, port}. It is restarted when it ends and started with the computer. service_logs shows why one is not ready.
4. file_write, file_edit, file_read, file_list work with files directly. Keep projects under /work.
5. A computer that sleeps or is stopped wakes by itself when you run a command or touch a file. computer_sleep keeps processes, computer_stop keeps only the disk, computer_destroy deletes all.

Long answers are cut: read on with the cursor or offset the answer names. Errors say what to do next. When a call may have been lost, repeat it with the same idempotency_key: it answers the first result and does nothing twice. whoami shows your limits.`;
