-- Takes the oldest queued runs: each row says so afterwards, under the thread's new epoch.
--
-- Both rows are locked. With the thread's alone, the run's status would be what the snapshot saw,
-- and two workers would get the same run.
--
-- A run at its last try (crashes not below $5) is taken by those who ask for such runs, and for no
-- others. A run that is pinned to a version is taken by a worker whose code has it.
--
--  $1 worker  $2 agents that it serves  $3 the version of each  $4 free slots
--  $5 crashes of a run at its last try  $6 such runs, and no others
WITH c AS (
    SELECT r.id, r.thread
      FROM agent_runs r
      JOIN agent_threads t ON t.id = r.thread AND t.live_run = r.id
     WHERE r.status = 'queued' AND r.agent = ANY ($2::text[])
       AND (r.agent_version IS NULL
            OR (r.agent, r.agent_version) IN (SELECT * FROM unnest($2::text[], $3::text[])))
       AND (r.crashes >= $5) = $6
     ORDER BY r.queued_at
     LIMIT $4
       FOR NO KEY UPDATE OF t, r SKIP LOCKED
), r AS (
    UPDATE agent_runs o
       SET status = 'running', worker = $1, attempts = o.attempts + 1
      FROM c
     WHERE o.id = c.id AND o.status = 'queued'
    RETURNING o.*
), t AS (
    UPDATE agent_threads o
       SET epoch = o.epoch + 1, version = o.version + 1, status = 'running',
           updated_at = clock_timestamp()
      FROM r
     WHERE o.id = r.thread
    RETURNING o.*
)
SELECT {thread_columns}, {run_columns}
  FROM r JOIN t ON t.id = r.thread
 ORDER BY r.queued_at
