/** Tokens of a login at an MCP server are in no event, sandbox, log line, export, API or file of the store. */
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { startGuarded } from '@cairn/harness/test/guarded-server'
import { expect, test } from 'vitest'
import { localToken } from '../src/local/local-admin.ts'
import { openClient } from './mcp-client.ts'
import { cairn, makePlace, startServer } from './server.ts'
import { newSession, PATIENCE_MS, readLog, runTurn } from './session.ts'

/** The tool returns the token that it was called with, and the command looks for it. */
const SCENARIO = {
  rules: [
    {
      when: { user: '^who am I' },
      steps: [
        { tool_calls: [{ name: 'mcp__x__whoami', arguments: {} }] },
        { tool_calls: [{ name: 'terminal', arguments: { command: 'env; cat /proc/*/environ; true' } }] },
        { text: 'You are known.' },
      ],
    },
    { answer: { text: 'Hello.' } },
  ],
}

/** Promise 11.5: The tokens of a login at an MCP server are in no output. */
test(
  'no output contains the tokens, the code or the verifier of a login at an MCP server',
  { timeout: 2 * PATIENCE_MS },
  async () => {
    const guarded = await startGuarded()
    const oauth = { internal: [new URL(guarded.issuer).host] }
    const config = { mcp_servers: { x: { url: guarded.url, auth: { oauth } } } }
    const place = makePlace({ scenario: SCENARIO, config })
    const server = await startServer({ ...place, env: { ...place.env, LOG_LEVEL: 'debug' } })
    const token = await localToken(place.dataDir)
    const headers = { authorization: `Bearer ${token}` }
    const visit = async (url: string): Promise<string> =>
      (await fetch(url, { headers, redirect: 'manual' })).headers.get('location') ?? ''
    const callback = await visit(await visit(`${server.url}/v1/mcp/connect/x`))
    expect((await fetch(callback, { headers })).status).toBe(200)
    const secrets = [
      ...guarded.issued,
      guarded.forms[0]?.['code'] ?? '',
      guarded.forms[0]?.['code_verifier'] ?? '',
    ]
    expect(secrets.map(secret => secret.length > 10)).toEqual([true, true, true, true])

    const id = await newSession(server.client)
    await runTurn(server.client, id, 'who am I')
    const mcp = await openClient({ url: server.url, token }, '2026-07-28')
    const outputs: Record<string, string> = {
      'the log by poll': JSON.stringify(await readLog(server.client, id)),
      'the MCP server': JSON.stringify(await mcp.call('read_session', { session_id: id, limit: 100 })),
      'the accounts': await (await fetch(`${server.url}/v1/mcp-accounts`, { headers })).text(),
      'the metrics': await (await fetch(`${server.url}/metrics`, { headers })).text(),
      'the doctor': (await cairn(place, ['doctor', '--json'])).stdout,
    }
    for (const format of ['jsonl', 'sft', 'dpo', 'atif'])
      outputs[`the export as ${format}`] = (await cairn(place, ['export', id, '--format', format])).stdout
    expect(await server.stop()).toBe(0)
    outputs['the log of the server'] = server.log()
    for (const folder of [place.dataDir, join(place.workspaces)])
      for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
        const path = join(entry.parentPath, entry.name)
        if (entry.isFile()) outputs[`the file ${path}`] = readFileSync(path).toString('latin1')
      }
    const found = Object.entries(outputs).flatMap(([where, text]) =>
      secrets.filter(secret => text.includes(secret)).map(secret => `${secret} is in ${where}`),
    )
    expect(found).toEqual([])
    // Control: the server received the token, and its answer with it was redacted.
    expect(guarded.bearers).toContain(guarded.issued[0])
    expect(outputs['the log by poll']).toContain('you are [REDACTED]')
    expect(outputs['the MCP server']).toContain('you are [REDACTED]')
  },
)
