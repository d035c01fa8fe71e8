-- Stores a finished step, once, under the writer's fence: no row means that the fence is lost.
--
-- The thread's row is locked first; what follows uses the numbers of the locked row. The step comes
-- next, and everything else happens only if it was new. A result whose row is not open any more, or
-- a signal that another step has read, divides by zero, so that the whole statement is undone.
--
--  $1 thread  $2 run  $3 epoch     the fence
--  $4 step  $5 turn  $6 value
--  $7 ids  $8 keys  $9 roles  $10 statuses  $11 turns  $12 parts  $13 models  $14 model names
--  $15 usages  $16 authors  $17 dedupes     new messages, in order
--  $18 key  $19 status  $20 parts  $21 model     the open row to fill; key null: none
--  $22 ids  $23 tool calls  $24 names  $25 inputs     approvals to ask for
--  $26 the run's open turn  $27 its usage  $28 the thread's usage     null: as it is
--  $29 ids of the signals that these messages are
--  $30 rules of the approvals  $31 the step's trace
WITH t AS (
    SELECT id, seq, version, wakes
      FROM agent_threads
     WHERE id = $1 AND live_run = $2 AND epoch = $3
       FOR NO KEY UPDATE
), s AS (
    INSERT INTO agent_steps (run, name, turn, value, trace, created_at)
    SELECT $2, $4, $5, $6, $31::json, clock_timestamp() FROM t
        ON CONFLICT (run, name) DO NOTHING
    RETURNING 1
), m AS (
    INSERT INTO agent_messages (id, key, thread, run, seq, version, role, status, turn, parts,
                                model, model_name, usage, author, dedupe, created_at)
    SELECT n.id, n.key, $1, $2, t.seq + n.place, t.version + 1, n.role, n.status, n.turn,
           n.parts::json, n.model, n.model_name, n.usage::json, n.author, n.dedupe,
           clock_timestamp()
      FROM t, s,
           unnest($7::text[], $8::text[], $9::text[], $10::text[], $11::int[], $12::text[],
                  $13::text[], $14::text[], $15::text[], $16::text[], $17::text[])
           WITH ORDINALITY AS n (id, key, role, status, turn, parts, model, model_name, usage,
                                 author, dedupe, place)
), f AS (
    UPDATE agent_messages o
       SET status = $19, parts = $20::json, model = $21, version = t.version + 1
      FROM t, s
     WHERE o.key = $18 AND o.run = $2 AND o.status = 'open'
    RETURNING 1
), a AS (
    INSERT INTO agent_approvals (id, thread, run, tool_call_id, name, input, rules, root, status,
                                 version, requested_at)
    SELECT n.id, $1, $2, n.tool_call_id, n.name, n.input::json, n.rules::json,
           (SELECT o.root_thread FROM agent_runs o WHERE o.id = $2), 'pending', t.version + 1,
           clock_timestamp()
      FROM t, s,
           unnest($22::text[], $23::text[], $24::text[], $25::text[], $30::text[])
           AS n (id, tool_call_id, name, input, rules)
), r AS (
    UPDATE agent_runs o
       SET turn = coalesce($26, o.turn), usage = coalesce($27::json, o.usage), crashes = 0
      FROM t, s
     WHERE o.id = $2 AND ($26::int IS NOT NULL OR $27::json IS NOT NULL OR o.crashes <> 0)
), g AS (
    UPDATE agent_signals o
       SET read_at = clock_timestamp(), reader = $2
      FROM t, s
     WHERE o.id = ANY ($29::text[]) AND o.thread = $1 AND o.read_at IS NULL
    RETURNING 1
), u AS (
    UPDATE agent_threads o
       SET seq = t.seq + cardinality($7::text[]), version = t.version + 1,
           usage = coalesce($28::json, o.usage), updated_at = clock_timestamp()
      FROM t, s
     WHERE o.id = t.id
)
SELECT t.wakes, t.version + done.new AS version, done.new = 1 AS was_new,
       1 / CASE WHEN done.new = 1 AND (done.filled <> ($18::text IS NOT NULL)::int
                                       OR done.read <> cardinality($29::text[]))
                THEN 0 ELSE 1 END AS ok
  FROM t,
       (SELECT (SELECT count(*) FROM s)::int AS new, (SELECT count(*) FROM f)::int AS filled,
               (SELECT count(*) FROM g)::int AS read) done
