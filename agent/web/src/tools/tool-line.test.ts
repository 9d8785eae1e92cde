import { expect, test } from 'vitest'
import { readCall } from './tool-call.ts'
import { toolLine } from './tool-line.ts'

const line = (name: string, args: Record<string, unknown> | string, result?: unknown) =>
  toolLine(readCall(name, args, result === undefined ? null : JSON.stringify(result)))

test('a call shows its object: a command, a path, a pattern, a URL', () => {
  expect(line('terminal', { command: 'wc -w a.md' }, { exit_code: 2, output: '' })).toEqual({
    verb: '$',
    object: 'wc -w a.md',
    note: 'exit 2',
  })
  expect(line('terminal', { command: 'true' }, { exit_code: 0, output: '' })).toEqual({
    verb: '$',
    object: 'true',
  })
  expect(line('edit_file', { path: 'a.ts', old_string: 'a\nb', new_string: 'c' })).toEqual({
    verb: 'Edit',
    object: 'a.ts',
    note: '+1 −2',
  })
  expect(line('write_file', { path: 'a.ts', content: 'a\nb\n' }).note).toBe('2 lines')
  expect(line('search_files', { pattern: 'x' }, { matches: ['a:1: x'] }).note).toBe('1 match')
  expect(line('web_fetch', { url: 'https://example.org' }, { status: 200 }).note).toBe('200')
  expect(
    line('todo', {
      todos: [
        { id: 'a', content: 'Plan', status: 'completed' },
        { id: 'b', content: 'Build', status: 'in_progress' },
      ],
    }),
  ).toEqual({ verb: 'Plan', object: 'Build', note: '1 of 2 done' })
})

test('delegated work shows who does it and when', () => {
  expect(line('delegate_task', { goals: [{ goal: 'Count' }, { goal: 'List' }] })).toEqual({
    verb: 'Start worker',
    object: 'Count · List',
    note: '2 workers',
  })
  expect(line('delegate_task', { goal: 'Count' })).toEqual({
    verb: 'Start worker',
    object: 'Count',
    note: '1 worker',
  })
  expect(line('schedule_create', { name: 'A loop', prompt: 'Say it', every_s: 60, max_runs: 2 })).toEqual({
    verb: 'Schedule',
    object: 'A loop',
    note: 'every minute',
  })
  expect(line('schedule_create', { prompt: 'Say it', cron: '0 9 * * *' })).toEqual({
    verb: 'Schedule',
    object: 'Say it',
    note: '0 9 * * *',
  })
})

test('shows an unknown tool and arguments that are not an object unchanged', () => {
  expect(line('mcp__hotel__book', { room: 'sea', nights: 2 })).toEqual({
    verb: 'mcp__hotel__book',
    object: 'room: sea nights: 2',
  })
  expect(line('terminal', 'not json')).toEqual({ verb: 'terminal', object: 'not json' })
  expect(line('terminal', '[1,2]').object).toBe('[1,2]')
})
