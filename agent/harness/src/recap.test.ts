import { expect, test } from 'vitest'
import { isFailure, listArtifacts, recapCalls, recapIteration } from './recap.ts'

const read = (path: string) => ({ name: 'read_file', arguments: { path } })
const write = (path: string, content: string) => ({
  tool_call_id: path,
  name: 'write_file',
  arguments: JSON.stringify({ path }),
  content,
})

test('a recap is one imperative line that names what was touched', () => {
  expect(
    recapCalls([
      { name: 'read_file', arguments: { path: 'src/a.ts' } },
      { name: 'terminal', arguments: { command: 'npm\ntest' } },
    ]),
  ).toBe('Read src/a.ts and run npm test')
  expect(recapCalls([{ name: 'todo', arguments: {} }])).toBe('Update the plan')
  expect(recapCalls([{ name: 'mcp__x__y', arguments: { path: 'p' } }])).toBe('Call mcp__x__y')
})

test('what failed or was refused was only tried', () => {
  expect(recapCalls([{ name: 'terminal', arguments: { command: 'rm -r x' }, failed: true }])).toBe(
    'Try to run rm -r x',
  )
})

test('repeated calls are told once, and a long list is cut', () => {
  expect(recapCalls([read('a'), read('a'), read('b')])).toBe('Read a and read b')
  expect(recapCalls(['a', 'b', 'c', 'd', 'e'].map(read))).toBe('Read a, read b, read c and 2 more')
})

test('an iteration without calls answered, or said nothing', () => {
  expect(recapIteration([], false)).toBe('Answer the user')
  expect(recapIteration([], true)).toBe('Give an empty answer')
})

test('a file that could not be written is no result of the turn', () => {
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

test('text that only looks like an object is no failure', () => {
  expect(isFailure('{"error":"x"}')).toBe(true)
  expect(isFailure('{"error"')).toBe(false)
  expect(isFailure('error')).toBe(false)
})
