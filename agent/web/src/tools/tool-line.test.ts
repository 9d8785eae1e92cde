import { TOOL_NAMES } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { readCall } from './tool-call.ts'
import { sumOfChanges, sumOfChips, toolLine } from './tool-line.ts'

const line = (name: string, args: Record<string, unknown> | string, result?: unknown) =>
  toolLine(readCall(name, args, result === undefined ? null : JSON.stringify(result)))
const named = (name: string, args: Record<string, unknown> | string) => {
  const { verb, object } = line(name, args)
  return [verb, object]
}

test('every built-in tool has a verb for people', () => {
  for (const name of TOOL_NAMES) {
    const { verb } = line(name, {})
    expect(verb, name).toMatch(/^[A-Z][a-zA-Z ]+$/)
    expect(verb, name).not.toContain('_')
  }
})

test('a call shows its object: a command, a path, a pattern, a URL', () => {
  expect(named('terminal', { command: 'wc -w a.md' })).toEqual(['Run', 'wc -w a.md'])
  expect(named('edit_file', { path: 'a.ts' })).toEqual(['Edit', 'a.ts'])
  expect(named('web_fetch', { url: 'https://example.org/a/' })).toEqual(['Fetch', 'example.org/a'])
  expect(named('delegate_task', { goals: [{ goal: 'Count' }, { goal: 'List' }] })).toEqual([
    'Start worker',
    'Count · List',
  ])
  const todos = [
    { id: 'a', content: 'Plan', status: 'completed' },
    { id: 'b', content: 'Build', status: 'in_progress' },
  ]
  expect(named('todo', { todos })).toEqual(['Plan', '1 of 2: Build'])
})

test('a command that exits with another code than 0 has a red chip, and a stopped one is not green', () => {
  const chips = (result: object) => line('terminal', { command: 'x' }, result).chips
  expect(chips({ exit_code: 3, output: '' })).toEqual([{ tone: 'bad', text: 'exit 3' }])
  expect(chips({ exit_code: 0, output: '' })).toEqual([{ tone: 'good', text: 'exit 0' }])
  expect(chips({ exit_code: null, signal: 'SIGKILL', output: '' })).toEqual([
    { tone: 'quiet', text: 'stopped' },
  ])
  expect(line('web_fetch', { url: 'https://example.org' }, { status: 200 }).chips).toEqual([])
  expect(line('web_fetch', { url: 'https://example.org' }, { status: 404 }).chips).toEqual([
    { tone: 'warn', text: '404' },
  ])
})

test('a file that is not there is an amber miss, other errors are red', () => {
  const missed = line('read_file', { path: 'a' }, { error: "Tool execution failed: file 'a' not found" })
  expect(missed.chips).toEqual([{ tone: 'warn', text: 'not found' }])
  expect(missed.error).toBe("file 'a' not found")
  expect(line('write_file', { path: 'a' }, { error: 'the disk is full' }).chips).toEqual([
    { tone: 'bad', text: 'failed' },
  ])
})

test('notes say how much was read, written, found or planned', () => {
  const edit = line('edit_file', { path: 'a.ts', old_string: 'a\nb', new_string: 'c' }, { ok: true })
  expect(edit.change).toEqual({ added: 1, removed: 2 })
  expect(sumOfChanges([edit, edit])).toEqual({ added: 2, removed: 4 })
  expect(line('write_file', { path: 'a.ts', content: 'a\nb\n' }).note).toBe('2 lines')
  expect(line('search_files', { pattern: 'x' }, { matches: ['a:1: x'] }).note).toBe('1 match')
  expect(line('search_files', { pattern: 'x' }, { matches: [] }).chips[0]?.text).toBe('no match')
  expect(line('schedule_create', { name: 'A loop', every_s: 60 }).note).toBe('every minute')
  expect(line('schedule_create', { prompt: 'Say it', cron: '0 9 * * *' }).note).toBe('0 9 * * *')
  const at = new Date(2026, 10, 30, 9).toISOString()
  expect(line('schedule_create', { prompt: 'Say it', at }).note).toBe('30 Nov, 09:00')
  expect(line('schedule_create', { prompt: 'Say it', at: 'tomorrow' }).note).toBe('tomorrow')
})

test('the chips of several calls are counted', () => {
  const missed = line('read_file', { path: 'a' }, { error: "file 'a' not found" })
  const good = line('read_file', { path: 'b' }, { total_lines: 3 })
  const run = line('terminal', { command: 'x' }, { exit_code: 0 })
  expect(sumOfChips([missed, good, missed, run])).toEqual([{ tone: 'warn', text: '2 not found' }])
})

test('an unknown tool is shown in words with its arguments, and arguments that are not an object unchanged', () => {
  expect(line('mcp__hotel__book_room', { room: 'sea', nights: 2 })).toMatchObject({
    verb: 'Book room',
    object: 'room: sea nights: 2',
    server: 'hotel',
  })
  expect(named('own_tool', {})).toEqual(['Own tool', ''])
  expect(named('terminal', 'not json')).toEqual(['Run', 'not json'])
  expect(named('terminal', '[1,2]')).toEqual(['Run', '[1,2]'])
})
