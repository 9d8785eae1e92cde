import { expect, test } from 'vitest'
import type { SettingRow } from '@cairn/log'
import { withModels } from './effective-config.ts'
import { mergeEdits, parseEdited, problemsOfEdits, readEdits } from './merge-edits.ts'
import { parseConfigFile } from './parse-config.ts'

const head = (kind: string, name: string, content: unknown): SettingRow => ({
  seq: 1,
  kind,
  name,
  version: 1,
  change: content === null ? 'remove' : 'publish',
  content: content === null ? null : JSON.stringify(content),
  sealed: null,
  note: null,
  restored_from: null,
  changed_by: 'u',
  changed_at: 0,
})
const merge = (text: string, ...heads: SettingRow[]) => {
  const { config: file, source } = parseConfigFile(text, 'cairn.yaml')
  const { edits, unreadable } = readEdits(heads)
  const { config, demo } = withModels(mergeEdits(file, edits))
  const problems = problemsOfEdits(file, edits, source).map(
    ({ path, message }) => `${path.join('.')}: ${message}`,
  )
  return { config, demo, problems, unreadable }
}
const PROVIDER = head('provider', 'acme', {
  kind: 'openai',
  base_url: 'https://acme.example/v1',
  models: { large: { input: 1, output: 2 } },
})

test('without edits the configuration is that of the file', () => {
  const text = 'models: {default: o/m, providers: {o: {kind: openai}}}\nagents: {a: {system: x}}'
  const { config } = parseConfigFile(text, 'cairn.yaml')
  expect(merge(text)).toEqual({ ...withModels(config), problems: [], unreadable: [] })
})

test('a provider and an agent of the editor end the demo', () => {
  const { config, demo, problems } = merge(
    '',
    PROVIDER,
    head('agent', 'assistant', { model: 'acme/large', system: 'Be brief.' }),
  )
  expect([demo, problems]).toEqual([false, []])
  expect(config.agents['assistant']).toMatchObject({ model: 'acme/large', system: 'Be brief.' })
  expect(config.models.providers['acme']).toMatchObject({ kind: 'openai' })
  expect(config.models.catalog['acme/large']).toMatchObject({ input: 1, output: 2 })
})

test('the file wins by name for the whole agent, and keys are never mixed', () => {
  const { config } = merge(
    'models: {default: o/m, providers: {o: {kind: openai}}}\nagents: {a: {system: file}}',
    head('agent', 'a', { system: 'editor', max_iterations: 3, temperature: 1 }),
    head('agent', 'b', { system: 'editor' }),
    head('provider', 'o', { kind: 'anthropic' }),
  )
  expect(config.agents['a']).toMatchObject({ system: 'file', max_iterations: 90 })
  expect(config.agents['a']?.temperature).toBeUndefined()
  expect(config.agents['b']).toMatchObject({ system: 'editor', model: 'o/m' })
  expect(config.models.providers['o']?.kind).toBe('openai')
})

test('the default model of the file wins over that of the editor', () => {
  const chosen = head('default_model', 'default', { model: 'acme/large' })
  expect(merge('', PROVIDER, chosen).config.models.default).toBe('acme/large')
  const file = 'models: {default: o/m, providers: {o: {kind: openai}}}'
  expect(merge(file, PROVIDER, chosen).config.models.default).toBe('o/m')
})

test('a removed setting is gone, and an unreadable one is left out and reported', () => {
  const { config, unreadable } = merge(
    '',
    head('agent', 'gone', null),
    head('agent', 'odd', { sytem: 'x' }),
    head('agent', 'good', { model: 'demo/scripted' }),
  )
  expect(Object.keys(config.agents)).toEqual(['good'])
  expect(unreadable.map(({ name }) => name)).toEqual(['odd'])
})

/** The policy of cairn.yaml is a floor: an agent of the editor can only ask more often. */
test('the policy of the file restricts agents of the editor, and not those of the file', () => {
  const { config } = merge(
    `editing: {policy: {denied_tools: [web_fetch], require_approval: [terminal], egress: {internal: [wiki.corp]}}}
models: {default: o/m, providers: {o: {kind: openai}}}
agents: {filed: {}}`,
    head('agent', 'edited', {
      governance: { require_approval: ['edit_file'], egress: { internal: ['wiki.corp'] } },
    }),
  )
  expect(config.agents['edited']?.governance).toMatchObject({
    denied_tools: ['web_fetch'],
    require_approval: ['edit_file', 'terminal'],
    egress: { internal: ['wiki.corp'] },
  })
  expect(config.agents['filed']?.governance.denied_tools).toEqual([])
})

test('an agent of the editor cannot open a private host that the file does not list', () => {
  const { config, problems } = merge(
    '',
    PROVIDER,
    head('agent', 'a', {
      model: 'acme/large',
      governance: { egress: { internal: ['169.254.169.254'] } },
    }),
  )
  expect(problems).toEqual([
    'agents.a.governance.egress.internal: "169.254.169.254" is not in editing.policy.egress.internal of cairn.yaml',
  ])
  expect(config.agents['a']?.governance.egress.internal).toEqual([])
})

test('checks names and tools of edited agents as those of the file', () => {
  expect(
    merge(
      '',
      PROVIDER,
      head('agent', 'a', {
        model: 'acmee/large',
        tools: ['terminl'],
        experts: ['sql'],
        governance: { allowed_tools: [] },
      }),
    ).problems,
  ).toEqual([
    'agents.a.model: "acmee/large" uses the provider "acmee", which models.providers does not define (did you mean "acme"?)',
    'agents.a.experts: unknown expert "sql" (defined: none)',
    'agents.a.tools.0: unknown tool "terminl" (did you mean "terminal"?)',
    'agents.a.governance.allowed_tools: an empty list allows every tool: remove the key, list the allowed tools, or write denied_tools: ["*"] to allow none',
  ])
})

test('names the key of each mistake, and takes no secret and no variable', () => {
  const problems = (kind: Parameters<typeof parseEdited>[0], name: string, given: unknown) => {
    const parsed = parseEdited(kind, name, given)
    return 'problems' in parsed
      ? parsed.problems.map(({ path, message }) => `${path.join('.')}: ${message}`)
      : []
  }
  expect(problems('agent', 'a', { max_iterations: 0, sytem: 'x' })).toEqual([
    'max_iterations: Too small: expected number to be >=1',
    'sytem: unknown key',
  ])
  expect(problems('agent', '../a', {})).toHaveLength(1)
  expect(problems('provider', 'p', { kind: 'openai', api_key_env: 'AWS_SECRET' })).toEqual([
    'api_key_env: unknown key',
  ])
  expect(problems('mcp_server', 'm', { command: 'x', sandbox: 'none' })).toEqual(['sandbox: unknown key'])
  expect(problems('mcp_server', 'm', { command: 'x', files: ['/etc/shadow'] })).toEqual([
    'files: unknown key',
  ])
  expect(problems('mcp_server', 'm', { url: 'file:///etc/passwd' })).toHaveLength(1)
  expect(problems('provider', 'p', { kind: 'scripted', scenario: '/etc/passwd' })).toHaveLength(1)
})
