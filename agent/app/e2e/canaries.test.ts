/**
 * Secrets reach no event, log line, export, metric or file of the store (contract 11), whatever their source.
 */
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { cairn, makePlace, startServer } from './server.ts'
import { newSession, PATIENCE_MS, readLog, runTurn } from './session.ts'

/**
 * One is recognized only by its name in the configuration, the others by their format. None appears in this
 * file in the form that is used.
 */
const CANARIES = {
  'a key that the configuration names': `plain.words/${'canary'.repeat(3)}`,
  'a key in what the model says': `sk-${'Model0Canary'.repeat(3)}`,
  'a key in what a command prints': `ghp_${'Tool0Canary'.repeat(3)}`,
  'a token in what a person says': `cairn_sk_${'Person0Canary'.repeat(3)}`,
  'a key in a file': `AKIA${'FILECANARY012345'}`,
} as const
const [configured, said, printed, told, filed] = Object.values(CANARIES) as [
  string,
  string,
  string,
  string,
  string,
]

const SCENARIO = {
  // Streamed a few letters at a time, so that each secret is split into many chunks.
  pace_ms: 1,
  chunk_chars: 4,
  rules: [
    {
      when: { user: '^look' },
      steps: [
        {
          reasoning: `I recall ${said} and ${configured}.`,
          text: `The key is ${said}, and the other ${configured}. I look around.`,
          tool_calls: [
            { name: 'terminal', arguments: { command: `env; cat note.txt; printf '%s' ${printed}` } },
            { name: 'write_file', arguments: { path: 'made.txt', content: `kept: ${filed}` } },
          ],
        },
        {
          tool_calls: [
            { name: 'read_file', arguments: { path: 'made.txt' } },
            {
              name: 'create_artifact',
              arguments: { name: `Report ${said}`, spec: { kind: 'markdown', content: `# ${printed}` } },
            },
          ],
        },
        {
          tool_calls: [
            { name: 'ask_user_question', arguments: { questions: [{ prompt: `Is ${said} right?` }] } },
          ],
        },
      ],
    },
    { answer: { text: `Understood, ${configured}.` } },
  ],
}

const filesBelow = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, withFileTypes: true })
    .filter(entry => entry.isFile())
    .map(entry => join(entry.parentPath, entry.name))

/** Promise 11: No output contains a secret, whatever its source. */
test(
  'no output contains the leak markers put into configuration, environment, messages, answers and tools',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const models = {
      default: 'test/scripted',
      providers: {
        test: { kind: 'scripted', scenario: './scenario.yaml' },
        real: { kind: 'openai', base_url: 'http://127.0.0.1:9/v1', api_key_env: 'REAL_KEY' },
      },
    }
    const place = makePlace({ scenario: SCENARIO, config: { models } })
    const env = { ...place.env, REAL_KEY: configured, LOG_LEVEL: 'debug' }
    const server = await startServer({ ...place, env })
    const id = await newSession(server.client)
    const workspace = join(place.workspaces, id)
    // Workspace files belong to the user. The rest of the data directory is Cairn's.
    await server.client.call('sendMessage', {
      params: { id },
      body: { content: `look, my token is ${told}` },
    })
    await server.client.waitFor(id, event => event.type === 'inbox.input_required', {
      signal: AbortSignal.timeout(PATIENCE_MS),
    })
    writeFileSync(join(workspace, 'note.txt'), filed)
    await runTurn(server.client, id, `never mind ${told}`)
    await server.client.call('renameSession', { params: { id }, body: { title: `About ${told}` } })

    // Cairn's own secrets: the signing key, and the tokens that the API returns.
    const signing = (JSON.parse(readFileSync(join(place.dataDir, 'auth-key.json'), 'utf8')) as { d: string })
      .d
    const made = await server.client.call('createUser', { body: { email: 'new@example.org', name: 'New' } })
    const login = await server.client.call('login', { body: { link_token: made.login_token } })
    const refresh = 'refresh_token' in login ? String(login.refresh_token) : ''
    const ours = {
      'the signing key': signing,
      'a login link': made.login_token,
      'a refresh token': refresh,
    }
    for (const [what, secret] of Object.entries(ours))
      await runTurn(server.client, id, `${what} is ${secret}, and again: ${JSON.stringify({ d: secret })}`)

    const log = await readLog(server.client, id)
    const streamed = (key: 'content' | 'reasoning'): string =>
      log.flatMap(event => (event.type === 'llm.delta' ? [event.data[key] ?? ''] : [])).join('')
    const token = (await cairn({ ...place, env }, ['token', 'user'])).stdout.trim()
    const get = async (path: string): Promise<string> =>
      (await fetch(server.url + path, { headers: { authorization: `Bearer ${token}` } })).text()
    const outputs: Record<string, string> = {
      'the log by poll': JSON.stringify(log),
      'the chunks of the answers put together': streamed('content') + streamed('reasoning'),
      'the listing of sessions': await get('/v1/sessions'),
      'the inbox': await get('/v1/inbox'),
      'the artifacts': await get(`/v1/sessions/${id}/artifacts`),
      'the metrics': await get('/metrics'),
      'the OpenAPI document': await get('/openapi.json'),
      about: await get('/v1/about'),
      'an error about a body': await (
        await fetch(`${server.url}/v1/sessions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: '{"agent":"nobody"}',
        })
      ).text(),
      'the doctor': (await cairn({ ...place, env }, ['doctor', '--json'])).stdout,
      'the log of the server': server.log(),
    }
    for (const format of ['jsonl', 'sft', 'dpo', 'atif'])
      outputs[`the export as ${format}`] = (
        await cairn({ ...place, env }, ['export', id, '--format', format])
      ).stdout
    expect(await server.stop()).toBe(0)
    outputs['the log of the server to its end'] = server.log()
    const store = filesBelow(place.dataDir).filter(
      path => !path.startsWith(join(place.dataDir, 'checkpoints')),
    )
    for (const path of store)
      outputs[`the file ${path.slice(place.dataDir.length + 1)}`] = readFileSync(path).toString('latin1')

    const found = Object.entries({ ...CANARIES, ...ours }).flatMap(([what, canary]) =>
      Object.entries(outputs).flatMap(([where, text]) =>
        text.includes(canary) && !where.endsWith('auth-key.json') ? [`${what} is in ${where}`] : [],
      ),
    )
    expect(found).toEqual([])
    // Control: the model received them, and the output shows where they were redacted.
    expect(outputs['the log by poll']).toContain('[REDACTED]')
    expect(outputs['the chunks of the answers put together']).toContain(
      'The key is [REDACTED], and the other [REDACTED]. I look around.',
    )
    expect(readFileSync(join(workspace, 'made.txt'), 'utf8')).toContain(filed)
    expect(store.some(path => path.endsWith('.db') && statSync(path).size > 10_000)).toBe(true)
    console.log(
      `${Object.keys(CANARIES).length} canaries looked for in ${Object.keys(outputs).length} outputs ` +
        'and files',
    )
  },
)
