-- Computers are listed by when they were created: the id of one that was kept warm is older than that.
create index computers_created on computers (account_id, created_at_ms desc, id desc);
drop index computers_account;
