import { expect, test } from 'vitest'
import { z } from 'zod'
import { correctArguments } from './correct-arguments.ts'
import { parseArguments } from './arguments.ts'
import { builtinDefinitions } from './catalogue.ts'
import { defineTool } from './parameters.ts'
import type { Tool } from './tool.ts'

const builtin = new Map(builtinDefinitions().map(tool => [tool.name, tool]))
const lookTool = defineTool({
  name: 'look',
  description: 'Looks.',
  parameters: z.strictObject({
    names: z.array(z.string()),
    range: z.strictObject({ from: z.int(), to: z.int().optional() }).optional(),
    ratio: z.number().nullable().optional(),
    is_deep: z.boolean().optional(),
    where: z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('line'), line: z.int() }),
      z.strictObject({ kind: z.literal('text'), text: z.string() }),
    ]),
  }),
  readOnly: false,
  idempotent: true,
  run: () => Promise.resolve({ content: '' }),
})
builtin.set('look', lookTool)
const where = { kind: 'line', line: 1 }

const parse = (tool: Tool | string, args: unknown) => {
  const found = typeof tool === 'string' ? builtin.get(tool) : tool
  if (found === undefined) throw new Error(`no tool ${String(tool)}`)
  return parseArguments(JSON.stringify(args), found, value => value)
}

test.each([
  ['read_file', { path: 'a.txt', offset: '1', limit: '2' }, { path: 'a.txt', offset: 1, limit: 2 }],
  ['read_file', { path: 'a.txt', offset: null, limit: null }, { path: 'a.txt' }],
  ['terminal', { command: 'ls', description: 'List', timeout: 5000 }, { command: 'ls', timeout: 600 }],
  ['read_file', { path: 'a.txt', limit: 100_000 }, { path: 'a.txt', limit: 2000 }],
  ['read_file', { path: 'a.txt', encoding: 'utf-8' }, { path: 'a.txt' }],
  ['read_file', { path: 2026 }, { path: '2026' }],
  [
    'edit_file',
    { path: 'a', oldString: 'x', 'new-string': 'y', replaceAll: 'true' },
    {
      path: 'a',
      old_string: 'x',
      new_string: 'y',
      replace_all: true,
    },
  ],
  [
    'todo',
    { todos: '[{"id": 1, "content": "x", "status": "pending"}]' },
    {
      todos: [{ id: '1', content: 'x', status: 'pending' }],
    },
  ],
  [
    'todo',
    { todos: { id: '1', content: 'x', status: 'pending' } },
    {
      todos: [{ id: '1', content: 'x', status: 'pending' }],
    },
  ],
  ['list_files', null, {}],
  ['read_file', '{"path": "a.txt"}', { path: 'a.txt' }],
  ['look', { names: 'a', where }, { names: ['a'], where }],
  [
    'look',
    { names: ['a', 7], where: { kind: 'line', line: '3' } },
    {
      names: ['a', '7'],
      where: { kind: 'line', line: 3 },
    },
  ],
  [
    'look',
    { names: [], range: '{"from": "1", "to": null}', ratio: '0.5', where },
    {
      names: [],
      range: { from: 1 },
      ratio: 0.5,
      where,
    },
  ],
  [
    'look',
    { names: [], ratio: null, is_deep: 'False', where, note: null },
    {
      names: [],
      ratio: null,
      is_deep: false,
      where,
    },
  ],
])('%s accepts %j after corrections, which it lists', (tool, given, expected) => {
  const parsed = parse(tool, given)
  expect(parsed).toMatchObject({ args: expected, raw: expected })
  expect(parse(tool, expected)).not.toHaveProperty('corrections')
})

test.each([
  ['terminal', { command: 'rm -rf build', cwd: 'sub' }, /cwd/],
  ['write_file', { path: 'a', content: 'x', overwrite: false }, /overwrite/],
  ['read_file', { path: 'a', offset: 'one' }, /offset/],
  ['read_file', { path: null }, /path/],
  ['read_file', { path: 'a', offset: '1.5' }, /offset/],
  ['read_file', { path: 'a', offset: '9007199254740993' }, /offset/],
  ['write_file', { path: 'a', content: { x: 1 } }, /content/],
  ['write_file', { path: 'a', content: null }, /content/],
  ['edit_file', { path: 'a', old_string: 'x', oldString: 'y', new_string: 'z' }, /oldString/],
  ['look', { names: 'a, b', where }, /names/],
  ['look', { names: '["a"', where }, /names/],
  ['look', { names: [], where: { kind: 'page', line: 1 } }, /where/],
  ['look', { names: [], where, is_deep: 'yes' }, /is_deep/],
])('%s still rejects %j, which could mean something else', (tool, given, problem) => {
  expect(parse(tool, given)).toMatchObject({ raw: given, problem: expect.stringMatching(problem) })
})

test('corrections name the arguments and not their values', () => {
  const { corrections } = correctArguments(
    { limit: '99', secret: null, old_Name: 'x', hint: 'y', size: 12 },
    {
      type: 'object',
      properties: {
        limit: { type: 'integer' },
        secret: { type: 'string' },
        oldname: { type: 'string' },
        size: { type: 'number', maximum: 10 },
      },
      additionalProperties: false,
    },
    { dropUnknown: true, caps: ['size'] },
  )
  expect(corrections).toEqual([
    'limit: text read as a number',
    'secret: null left out',
    'old_Name: read as oldname',
    'hint: unknown, left out',
    'size: above the maximum, lowered to 10',
  ])
})

test('arguments of an MCP tool are corrected by the schema of its server', () => {
  const tool: Tool = {
    ...lookTool,
    parameters: z.record(z.string(), z.unknown()),
    jsonSchema: { type: 'object', properties: { count: { type: 'integer' }, to: { type: 'string' } } },
  }
  expect(parse(tool, { count: '3', to: null, more: null })).toMatchObject({
    args: { count: 3, more: null },
    corrections: ['count: text read as a number', 'to: null left out'],
  })
  expect(parse(tool, { count: 3, to: 'x' })).not.toHaveProperty('corrections')
})
