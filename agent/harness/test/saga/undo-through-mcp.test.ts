/**
 * A compensation that the operator declared, through a real MCP server: a separate process with its own
 * ledger.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Config } from '@cairn/protocol'
import { checkHistory } from '@cairn/verify'
import { expect, onTestFinished, test } from 'vitest'
import { startMcpServers } from '../../src/capabilities/mcp/servers.ts'
import { setStage } from '../turn/stage.ts'
import { type Death, deathsOf, withDeath } from '../turn/with-death.ts'

const program = new URL('hotel-server.ts', import.meta.url).pathname
const book = (room: string) => ({ name: 'mcp__hotel__book', arguments: { room } })
const saga = {
  enabled: true,
  undo: { mcp__hotel__book: { tool: 'mcp__hotel__cancel', args: { id: '{{result.booking.id}}' } } },
}
const scenario = {
  rules: [
    {
      steps: [
        { tool_calls: [book('attic')] },
        { tool_calls: [book('suite'), book('cellar')] },
        { error: { status: 400, message: 'no more' } },
      ],
    },
  ],
}

const dir = mkdtempSync(join(tmpdir(), 'cairn-hotel-'))
let ledgers = 0

async function run(death: Death) {
  const ledger = join(dir, `ledger-${++ledgers}`)
  const mcp = startMcpServers({
    servers: Config.parse({
      mcp_servers: { hotel: { command: process.execPath, args: [program, ledger], sandbox: 'none' } },
    }).mcp_servers,
    env: process.env,
    boxes: () => Promise.reject(new Error('it asks for no box')),
    logger: () => {},
  })
  try {
    await mcp.ready
    return await withDeath(
      {
        set: async store => ({
          stage: await setStage({ scenario, tools: mcp.tools(), agent: { saga }, store }),
        }),
        async play({ stage }) {
          await stage.send('book three rooms')
          await stage.next('saga.complete')
        },
        look: () => readFileSync(ledger, 'utf8').trimEnd().split('\n'),
      },
      death,
    )
  } finally {
    await mcp.stop()
  }
}

/** Promise 10: A compensation runs once through a real MCP server, wherever the runner dies. */
test('bookings are cancelled by their own ids, latest first, and a refused cancellation is listed', async () => {
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }))
  const { seen: ledger, events, commits, problems } = await run(null)
  expect(ledger).toEqual([
    'booked attic',
    'booked suite',
    'booked cellar',
    'cancelled B-cellar',
    'cancelled B-suite',
    'cancelled B-attic',
  ])
  expect(checkHistory(events, { settled: true })).toEqual([])
  expect(problems).toEqual([])
  const undos = events.flatMap(event =>
    event.type === 'saga.step_begin' && event.data.state === 'compensating'
      ? [[event.data.compensation_tool, event.data.compensation_args]]
      : [],
  )
  expect(undos).toEqual(['cellar', 'suite', 'attic'].map(room => ['mcp__hotel__cancel', { id: `B-${room}` }]))
  const report = events.find(event => event.type === 'saga.compensate')
  expect(report?.data.steps_rolled_back).toHaveLength(2)
  expect(report?.data.failed_steps).toHaveLength(1)
  expect(report?.data.told).toMatch(
    /^The work failed .*\nUndone: mcp__hotel__book \(.+\), mcp__hotel__book \(.+\)\.\nNot undone, so the effect may still be there: mcp__hotel__book \(.+\)\.$/s,
  )

  // A runner that dies while the hotel cancels: the next one never repeats the cancellation.
  for (const death of deathsOf(commits).slice(-8)) {
    const { seen, events: log } = await run(death)
    expect(checkHistory(log, { settled: true })).toEqual([])
    const cancelled = seen.filter(line => line.startsWith('cancelled'))
    expect(cancelled).toEqual([...new Set(cancelled)])
    expect(cancelled).toEqual(
      ['cancelled B-cellar', 'cancelled B-suite', 'cancelled B-attic'].filter(line =>
        cancelled.includes(line),
      ),
    )
  }
})
