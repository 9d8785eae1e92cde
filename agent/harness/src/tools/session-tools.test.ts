import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ArtifactMeta } from '@cairn/protocol'
import { expect, test } from 'vitest'
import { makeContext, runParsed } from '../../test/tools/tool-context.ts'
import { askUserQuestionTool } from './ask-user-question.ts'
import { createArtifactTool } from './create-artifact.ts'
import { toolJsonSchema } from './parameters.ts'
import { todoTool } from './todo.ts'
import { builtinDefinitions } from './catalogue.ts'

const artifacts = (known: Partial<ArtifactMeta>[] = []) =>
  createArtifactTool({ artifacts: { list: () => Promise.resolve(known as ArtifactMeta[]) } }, () => 'a1')

test('todo writes the whole list as one event and counts it', async () => {
  const todos = [
    { id: '1', content: 'look', status: 'completed' },
    { id: '2', content: 'leap', status: 'in_progress' },
  ]
  const { content, events } = await runParsed(todoTool, { todos }, makeContext())
  expect(content).toEqual({
    todos,
    summary: { total: 2, pending: 0, in_progress: 1, completed: 1, cancelled: 0 },
  })
  expect(events).toEqual([{ type: 'todo.updated', data: { todos } }])
})

test('todo rejects a list in which two items have the same id', async () => {
  const item = { id: '1', content: 'x', status: 'pending' }
  await expect(runParsed(todoTool, { todos: [item, item] }, makeContext())).rejects.toThrow('the same id')
})

test('ask_user_question suspends with one to five questions', async () => {
  const questions = [
    {
      prompt: 'Which?',
      choices: [{ label: 'A' }, { label: 'B', description: 'the other' }],
      allow_other: true,
    },
  ]
  expect(await runParsed(askUserQuestionTool, { questions, context: 'why' }, makeContext())).toEqual({
    content: { questions, context: 'why' },
    suspend: 'person',
  })
  expect(askUserQuestionTool.parameters.safeParse({ questions: [] }).success).toBe(false)
  expect(
    askUserQuestionTool.parameters.safeParse({
      questions: Array.from({ length: 6 }, () => ({ prompt: 'x' })),
    }).success,
  ).toBe(false)
})

test('create_artifact writes its metadata to the event and its body to the row', async () => {
  const spec = { kind: 'table', columns: ['a'], rows: [[1], [null]] }
  const outcome = await runParsed(artifacts(), { name: 'Sums', spec }, makeContext())
  const artifact = {
    artifact_id: 'a1',
    name: 'Sums',
    kind: 'table',
    version: 1,
    size: JSON.stringify(spec).length,
  }
  expect(outcome.content).toEqual(artifact)
  expect(outcome.events).toEqual([
    {
      type: 'artifact.created',
      data: { ...artifact, tool_call_id: 'call_1', originating_session_id: 's1' },
      rows: [{ do: 'artifact.add', artifact, spec }],
    },
  ])
})

test('an artifact of the same name and kind is the next version', async () => {
  const known = [
    { name: 'Sums', kind: 'markdown', version: 1 },
    { name: 'Sums', kind: 'markdown', version: 2 },
    { name: 'Sums', kind: 'svg', version: 7 },
  ] as const
  expect(
    (
      await runParsed(
        artifacts([...known]),
        { name: 'Sums', spec: { kind: 'markdown', content: 'x' } },
        makeContext(),
      )
    ).content,
  ).toMatchObject({ version: 3 })
})

test('create_artifact enforces its limits: 500 KB, 200 per session, names of 120 characters', async () => {
  const spec = { kind: 'markdown', content: 'x' }
  await expect(
    runParsed(
      artifacts(),
      { name: 'big', spec: { kind: 'markdown', content: 'x'.repeat(512_000) } },
      makeContext(),
    ),
  ).rejects.toThrow('at most 512000 are kept')
  await expect(
    runParsed(
      artifacts(Array.from({ length: 200 }, () => ({ name: 'n' }))),
      { name: 'one more', spec },
      makeContext(),
    ),
  ).rejects.toThrow('at most 200')
  expect(artifacts().parameters.safeParse({ name: 'x'.repeat(121), spec }).success).toBe(false)
})

test('an image must be a file of the workspace, and is stored by its path there', async () => {
  const context = makeContext()
  writeFileSync(join(context.workspace, 'plot.png'), 'png')
  const { events } = await runParsed(
    artifacts(),
    { name: 'Plot', spec: { kind: 'image', path: join(context.workspace, 'plot.png') } },
    context,
  )
  expect(events).toMatchObject([{ rows: [{ spec: { path: 'plot.png' } }] }])
  await expect(
    runParsed(artifacts(), { name: 'Plot', spec: { kind: 'image', path: '../plot.png' } }, context),
  ).rejects.toThrow('outside the workspace')
  await expect(
    runParsed(artifacts(), { name: 'Plot', spec: { kind: 'image', path: 'none.png' } }, context),
  ).rejects.toThrow("no image file 'none.png'")
})

test('the catalogue has the eleven built-in tools, and each shows the model a plain object schema', () => {
  const tools = builtinDefinitions()
  expect(tools.map(tool => tool.name)).toEqual([
    'read_file',
    'write_file',
    'edit_file',
    'list_files',
    'search_files',
    'terminal',
    'todo',
    'ask_user_question',
    'request_user_action',
    'create_artifact',
    'web_fetch',
  ])
  for (const tool of tools) {
    expect(toolJsonSchema(tool)).toMatchObject({ type: 'object', additionalProperties: false })
    expect(toolJsonSchema(tool)).not.toHaveProperty('$schema')
  }
  expect(tools.filter(tool => tool.readOnly).map(tool => tool.name)).toEqual([
    'read_file',
    'list_files',
    'search_files',
    'web_fetch',
  ])
})
