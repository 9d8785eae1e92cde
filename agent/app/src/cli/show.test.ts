import type { InboxItem } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { waitingLines } from './show.ts'

const item = (kind: InboxItem['kind'], title: string, payload: InboxItem['payload'] = {}) => ({
  kind,
  title,
  payload,
})

test('news with the same words is one line with their number; each question keeps its own', () => {
  const question = { tool_call_id: 'c', questions: [{ prompt: 'Which?', choices: [{ label: 'left' }] }] }
  expect(
    waitingLines([
      item('task_complete', 'Very well.'),
      item('input_required', 'Which?', question),
      item('task_complete', 'Very well.'),
      item('task_complete', 'Another one.'),
      item('input_required', 'Which?', question),
      item('task_complete', 'Very well.'),
    ]),
  ).toEqual([
    '? Which?',
    '  1  left',
    '? Which?',
    '  1  left',
    'task_complete: Very well. (3 times)',
    'task_complete: Another one.',
  ])
})
