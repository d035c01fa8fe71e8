-- Gives the runs of a dead worker back to the queue, each under a new epoch of its thread.
--
-- Both rows are locked, as by a claim. A row that somebody else holds is left for the next sweep,
-- so that one slow transaction does not keep all the others waiting.
--
-- A run whose tries this crash uses up stays: it is to be ended.
--
--  $1 worker  $2 crashes that end a run
WITH c AS (
    SELECT r.id, r.thread
      FROM agent_runs r
      JOIN agent_threads t ON t.id = r.thread AND t.live_run = r.id
     WHERE r.worker = $1 AND r.status = 'running' AND r.crashes + 1 < $2
       FOR NO KEY UPDATE OF t, r SKIP LOCKED
), r AS (
    UPDATE agent_runs o
       SET status = 'queued', worker = NULL, crashes = o.crashes + 1,
           crashed_at = clock_timestamp()
      FROM c
     WHERE o.id = c.id AND o.status = 'running'
    RETURNING o.id, o.thread
)
UPDATE agent_threads o
   SET epoch = o.epoch + 1, version = o.version + 1, status = 'queued',
       updated_at = clock_timestamp()
  FROM r
 WHERE o.id = r.thread
RETURNING o.id AS thread, r.id AS run, o.version
