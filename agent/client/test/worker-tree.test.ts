import { expect, test } from 'vitest'
import type { WorkerView } from '@cairn/protocol'
import { treeRows } from '@cairn/client'

const worker = (worker_id: string, parent_id: string, second: number): WorkerView => ({
  worker_id,
  parent_id,
  depth: 1,
  kind: 'worker',
  task_id: null,
  attempt: null,
  agent: 'assistant',
  goal: worker_id,
  open_children: 0,
  blocked_reason: null,
  status: 'open',
  cause: null,
  state: 'running',
  waiting_on: null,
  usage: { input_tokens: 0, output_tokens: 0, cost_usd: 0, unpriced: false },
  last_event: null,
  started_at: new Date(second * 1000).toISOString(),
  ended_at: null,
})

test('lists workers below their parent, in order of creation', () => {
  const listed = [
    worker('second below', 'lead', 4),
    worker('of a page before', 'elsewhere', 0),
    worker('first below', 'lead', 3),
    worker('other', 'root', 2),
    worker('lead', 'root', 1),
  ]
  expect(treeRows(listed).map(({ worker, level }) => [worker.worker_id, level])).toEqual([
    ['of a page before', 1],
    ['lead', 1],
    ['first below', 2],
    ['second below', 2],
    ['other', 1],
  ])
})
