import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ConfigError } from './config-error.ts'
import { resolveConfig } from './effective-config.ts'
import { editDistance, nearest } from '@cairn/tooling/cli/nearest'
import { parseConfig, parseConfigFile } from './parse-config.ts'
import { readConfig } from './read-config.ts'
import { showConfig } from './show-config.ts'

const problemsOf = (run: () => unknown): readonly string[] => {
  try {
    run()
  } catch (error) {
    if (error instanceof ConfigError) return error.problems
    throw error
  }
  return []
}
const parse = (text: string): ReturnType<typeof parseConfig> => parseConfig(text, 'cairn.yaml')
const resolve = (
  text: string,
  environment: Record<string, string> = {},
): ReturnType<typeof resolveConfig> => {
  const { config, source } = parseConfigFile(text, 'cairn.yaml')
  return resolveConfig(config, 'cairn.yaml', environment, source)
}

test('an empty file yields a configuration with all defaults', () => {
  expect(parse('').limits.drain_s).toBe(20)
  expect(parse('# nothing yet\n').agents).toEqual({})
})

test('reports an unknown key with its path, its line and the nearest known key', () => {
  expect(
    problemsOf(() => parse('models:\n  defualt: a/b\nlimit: {}\nagents:\n  a:\n    goverance: {}\n')),
  ).toEqual([
    'line 2: unknown key "models.defualt" (did you mean "default"?)',
    'line 6: unknown key "agents.a.goverance" (did you mean "governance"?)',
    'line 3: unknown key "limit" (did you mean "limits"?)',
  ])
})

test('lists the known keys for an unknown key without a near match, for its kind if there are kinds', () => {
  expect(problemsOf(() => parse('models: {providers: {a: {kind: anthropic, organisation: x}}}'))).toEqual([
    'line 1: unknown key "models.providers.a.organisation" (known keys: kind, base_url, api_key_env)',
  ])
  expect(problemsOf(() => parse('mcp_servers:\n  files:\n    command: x\n    arg: [y]'))).toEqual([
    'line 4: unknown key "mcp_servers.files.arg" (did you mean "args"?)',
  ])
})

test('reports an invalid value with its line, the expected type and the actual value', () => {
  expect(problemsOf(() => parse('limits:\n  drain_s: soon\nmodels: {default: gpt}\nagents:\n'))).toEqual([
    'line 3: models.default: must have the form <provider>/<model>, got "gpt"',
    'line 4: agents: expected record, got nothing',
    'line 2: limits.drain_s: expected number, got "soon"',
  ])
})

test('rejects invalid YAML with its line', () => {
  expect(problemsOf(() => parse('agents:\n  a: [1\nb: }'))[0]).toMatch(/^line 3: invalid YAML: /)
  expect(problemsOf(() => parse('a: 1\na: 2'))[0]).toMatch(/^line 2: invalid YAML: .*unique/)
})

test('without a model the scripted one answers, and its agent asks before commands and edits', () => {
  const { config, demo } = resolve('')
  expect(demo).toBe(true)
  expect(config.agents['assistant']).toMatchObject({
    model: 'demo/scripted',
    governance: { require_approval: ['terminal', 'edit_file'] },
  })
  expect(resolve('models: {providers: {openai: {kind: openai, api_key_env: NOT_YET}}}').demo).toBe(true)
})

test('agents without a model use the configured default, and no approval is added', () => {
  const { config, demo } = resolve('models: {default: o/m, providers: {o: {kind: openai}}}')
  expect(demo).toBe(false)
  expect(config.agents['assistant']).toMatchObject({ model: 'o/m', governance: { require_approval: [] } })
})

test('rejects unknown providers and experts, unset variables and missing models', () => {
  const text =
    'models: {default: opnai/m, providers: {openai: {kind: openai, api_key_env: THE_KEY}}}\nagents: ' +
    '{a: {experts: [sql], model: openai/m}}\nexperts: {sq1: {description: d, system: s}}'
  expect(problemsOf(() => resolve(text))).toEqual([
    'models.default: "opnai/m" uses the provider "opnai", which models.providers does not define ' +
      '(did you mean "openai"?)',
    'agents.a.experts: unknown expert "sql" (did you mean "sq1"?)',
    'models.providers.openai.api_key_env: the environment variable THE_KEY is not set',
  ])
  expect(
    problemsOf(() => resolve('agents: {a: {}, b: {model: o/m}}\nmodels: {providers: {o: {kind: openai}}}')),
  ).toEqual(['agents.a.model: missing model: set it here or in models.default'])
})

test('rejects an internal address in the allow list and names the list it belongs to', () => {
  const agent = (rules: string) =>
    problemsOf(() => resolve(`agents: {a: {governance: {egress: {default: deny, ${rules}}}}}`))
  expect(agent('allow: [localhost, example.org, 10.0.0.1, "[::1]"]')).toEqual(
    ['localhost', '10.0.0.1', '[::1]'].map(
      host =>
        `agents.a.governance.egress.allow: "${host}" is an internal address: ` +
        'list it under egress.internal, because allow accepts host names only',
    ),
  )
  expect(agent('internal: [localhost, 10.0.0.1, wiki.corp]')).toEqual([])
  expect(agent('internal: ["127.0.0.1:8080", "[::1]:8080", "[::1]", "fd00::1"]')).toEqual([])
  expect(agent('internal: ["wiki.corp:8080"]')).toEqual([
    'line 1: agents.a.governance.egress.internal.0: has a port after a name: only an address may have ' +
      'one (127.0.0.1:8080); a name allows all ports, got "wiki.corp:8080"',
  ])
  expect(agent('internal: ["*.corp"]')).toEqual([
    'line 1: agents.a.governance.egress.internal.0: must be a full host name or address, without a ' +
      'wildcard, got "*.corp"',
  ])
})

/** Promise 10: A policy entry that can match no tool is rejected at start. */
test('reports a policy entry that can match no tool in one sentence with its line and the nearest tool', () => {
  const text = `mcp_servers:
  bank: {url: "http://127.0.0.1:1/mcp"}
experts:
  reader: {description: d, system: s, tools: [read_fil, "read_*"]}
agents:
  a:
    tools: [terminal, "browser_*", mcp__bank__pay, "mcp__bank__*", "mcp__*"]
    governance:
      require_approval:
        - terminl
        - "*delete*"
        - mcp__*__pay
        - mcp__bnak__pay
        - " terminal"
        - ""
        - "shell_*"
        - code.execute
      allowed_tools: []
      denied_tools: []
    saga: {undo: {mcp__bank__pay: {tool: mcp__bank__refund}, write_fil: {tool: edit_file}}}
`
  const at = 'agents.a.governance.require_approval'
  expect(problemsOf(() => resolve(text))).toEqual([
    `line 10: ${at}.0: unknown tool "terminl" (did you mean "terminal"?)`,
    `line 11: ${at}.1: "*delete*" has a * at character 1: ` +
      '* is allowed only at the end of a pattern. Write whole names, or the beginning of names ' +
      'followed by *',
    `line 12: ${at}.2: "mcp__*__pay" has a * at character 6: ` +
      '* is allowed only at the end of a pattern. Write whole names, or the beginning of names ' +
      'followed by *',
    `line 13: ${at}.3: unknown tool "mcp__bnak__pay" (did you mean "mcp__bank__pay"?)`,
    `line 14: ${at}.4: unknown tool " terminal" (did you mean "terminal"?)`,
    `line 15: ${at}.5: an empty name matches no tool: remove it, or enter a tool name`,
    `line 16: ${at}.6: no tool name begins with "shell_" (docs/tools.md lists them)`,
    'line 4: experts.reader.tools.0: unknown tool "read_fil" (did you mean "read_file"?)',
    'line 20: agents.a.saga.undo.write_fil: unknown tool "write_fil" (did you mean "write_file"?)',
    'line 18: agents.a.governance.allowed_tools: an empty list allows every tool: ' +
      'remove the key, list the allowed tools, or write denied_tools: ["*"] to allow none',
  ])
})

test('reports an egress entry that can match no host in one sentence with its line', () => {
  const text = `notices: {egress: {deny: ["a.*.org", "https://example.org", "", "10.0.0.0/8", "münchen.de"]}}
mcp_servers:
  files: {command: x, egress: {allow: [api.example.org]}}
agents:
  a: {governance: {egress: {default: deny, allow: ["*", "*.example.org", example.org, "[2606::1]"]}}}
`
  expect(problemsOf(() => resolve(text))).toEqual([
    'line 1: notices.egress.deny.0: "a.*.org" has a * at character 3: ' +
      'in a host pattern * is allowed only at the beginning (*.example.org) or alone',
    'line 1: notices.egress.deny.1: "https://example.org" is not a host name: ' +
      'remove the scheme, port, path or network prefix',
    'line 1: notices.egress.deny.2: an empty name matches no host: remove it, or enter a host name',
    'line 1: notices.egress.deny.3: "10.0.0.0/8" is not a host name: ' +
      'remove the scheme, port, path or network prefix',
    'line 1: notices.egress.deny.4: "münchen.de" matches no host: ' +
      'write it as "xn--mnchen-3ya.de", its form in URLs',
    'line 3: mcp_servers.files.egress.allow: the list has no effect while default is allow: ' +
      'add default: deny, or remove the list',
  ])
})

/** Promise 10: Two MCP servers cannot provide tools with the same name. */
test('rejects two MCP servers whose tools have the same name', () => {
  const names = (list: string) => problemsOf(() => parse(`mcp_servers:\n${list}`))
  const server = '{url: "http://127.0.0.1:1/"}'
  expect(names(`  rug: ${server}\n  rug__x: ${server}`)).toEqual([
    expect.stringMatching(/^line 3: mcp_servers\.rug__x: the name must not contain "__" or end in "_"/),
  ])
  for (const name of ['a_', 'a.', 'a._b', 'a..b']) expect(names(`  ${name}: ${server}`)).toHaveLength(1)
  expect(names(`  git.hub: ${server}\n  git_hub: ${server}`)).toEqual([
    expect.stringMatching(/^line 3: mcp_servers\.git_hub: has the same tool names as git\.hub/),
  ])
  expect(names(`  git.hub: ${server}\n  git-hub: ${server}\n  a_b: ${server}`)).toEqual([])
})

test('rejects a missing CAIRN_CONFIG file and reads an existing one', () => {
  const folder = mkdtempSync(join(tmpdir(), 'cairn-config-'))
  const file = join(folder, 'my.yaml')
  expect(problemsOf(() => readConfig({ CAIRN_CONFIG: file }))).toEqual([
    'the file that CAIRN_CONFIG names does not exist',
  ])
  writeFileSync(file, 'limits: {drain_s: 1}')
  expect(readConfig({ CAIRN_CONFIG: file })).toMatchObject({
    file,
    demo: true,
    config: { limits: { drain_s: 1 } },
  })
})

test('the printed configuration contains no secret', () => {
  const secret = 's3cret'
  const { config } = resolve(
    '\n' +
      'models: {default: o/m, providers: {o: {kind: openai, base_url: ' +
      `"https://me:${secret}@host/v1?key=${secret}", headers: {authorization: Bearer ${secret}}}}}\n` +
      `mcp_servers: {m: {command: run, args: ["--api-key=${secret}", "--verbose"]}, n: {url: ` +
      `"https://host/mcp?token=${secret}"}}`,
  )
  const shown = showConfig(config)
  expect(shown).not.toContain(secret)
  expect(shown).toContain('--verbose')
  expect(shown).toContain('authorization')
})

test('the printed configuration omits empty values and is equivalent YAML', () => {
  const { config } = resolve('')
  const shown = showConfig(config)
  expect(shown).not.toContain('experts')
  expect(shown).not.toMatch(/: (?:\{\}|\[\])$/m)
  // It fits on one screen: mostly the limits, which all have defaults.
  expect(shown.split('\n').length).toBeLessThan(48)
  expect(parse(shown)).toEqual(config)
})

test('word distance counts insertions, deletions, replacements and swaps', () => {
  expect([
    editDistance('', 'abc'),
    editDistance('default', 'defualt'),
    editDistance('kitten', 'sitting'),
    editDistance('a', 'a'),
  ]).toEqual([3, 1, 3, 0])
  expect(nearest('maxIterations', ['max_iterations', 'max_tokens'])).toBe('max_iterations')
  expect(nearest('colour', ['model', 'tools'])).toBeUndefined()
})
