import { expect, test } from 'vitest'
import { isFailure, listArtifacts, recapCalls, recapIteration } from './recap.ts'

const read = (path: string) => ({ name: 'read_file', arguments: { path } })
const write = (path: string, content: string) => ({
  tool_call_id: path,
  name: 'write_file',
  arguments: JSON.stringify({ path }),
  content,
})

test('a recap is one imperative line that names what the calls used', () => {
  expect(
    recapCalls([
      { name: 'read_file', arguments: { path: 'src/a.ts' } },
      { name: 'terminal', arguments: { command: 'npm\ntest' } },
    ]),
  ).toBe('Read src/a.ts and run npm test')
  expect(recapCalls([{ name: 'todo', arguments: {} }])).toBe('Update the plan')
  expect(recapCalls([{ name: 'mcp__x__y', arguments: { path: 'p' } }])).toBe('Call mcp__x__y')
})

test('describes a failed or denied call as an attempt', () => {
  expect(recapCalls([{ name: 'terminal', arguments: { command: 'rm -r x' }, failed: true }])).toBe(
    'Try to run rm -r x',
  )
})

test('lists repeated calls once and cuts a long list', () => {
  expect(recapCalls([read('a'), read('a'), read('b')])).toBe('Read a and read b')
  expect(recapCalls(['a', 'b', 'c', 'd', 'e'].map(read))).toBe('Read a, read b, read c and 2 more')
})

test('describes an iteration without calls as an answer, or an empty one', () => {
  expect(recapIteration([], false)).toBe('Answer the user')
  expect(recapIteration([], true)).toBe('Give an empty answer')
})

test('lists no file that could not be written', () => {
  expect(
    listArtifacts({
      calls: [
        write('out/a.txt', '{"written":1}'),
        write('b.txt', '{"error":"Tool execution failed: full"}'),
        write('out/a.txt', 'ok'),
      ],
      artifacts: [{ artifact_id: 'i', name: 'Report' }],
    }),
  ).toEqual([
    { kind: 'file', label: 'a.txt', ref: 'out/a.txt' },
    { kind: 'artifact', label: 'Report', ref: 'i' },
  ])
})

test('text that only looks like an object is not a failure', () => {
  expect(isFailure('{"error":"x"}')).toBe(true)
  expect(isFailure('{"error"')).toBe(false)
  expect(isFailure('error')).toBe(false)
})
