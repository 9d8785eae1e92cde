/** cairn conformance: checks a running server against the promises that are visible over HTTP. */
import { asError } from '@cairn/protocol'
import { NotChecked } from '../conformance/expectations.ts'
import { LOG_CHECKS } from '../conformance/log-checks.ts'
import { createProbe } from '../conformance/probe.ts'
import { REQUEST_CHECKS } from '../conformance/request-checks.ts'
import { SESSION_CHECKS } from '../conformance/session-checks.ts'
import { STREAM_CHECKS } from '../conformance/stream-checks.ts'
import { defineCommand } from './command.ts'
import { CONNECT_OPTIONS, connectWith } from './connect.ts'
import { EXIT, UsageError } from '../exit.ts'

const CHECKS = [...LOG_CHECKS, ...STREAM_CHECKS, ...REQUEST_CHECKS, ...SESSION_CHECKS]

type Verdict = { check: string; verdict: 'ok' | 'fail' | 'skipped'; detail: string; ms: number }
const MARK = { ok: '✓', fail: '✗', skipped: '-' } as const

export const conformance = defineCommand({
  name: 'conformance',
  summary: 'Check that a running server keeps the promises of the HTTP API',
  usage: [
    [
      'conformance [URL]',
      'run all checks and print one line each; leaves the paused sessions that it creates. ' +
        'Exit code 1 when a check fails',
    ],
    ['  --cuts N', 'number of connections to cut in the reconnection check; default 60'],
    ['  --only TEXT', 'run only checks whose name contains this text'],
  ],
  options: {
    ...CONNECT_OPTIONS,
    cuts: { type: 'string', default: '60' },
    only: { type: 'string', default: '' },
  },
  async run({ values, positionals }, io) {
    if (positionals.length > 1) throw new UsageError(`Unexpected argument "${positionals[1]}"`)
    const cuts = Number(values.cuts)
    if (!Number.isInteger(cuts) || cuts < 0)
      throw new UsageError(`Invalid --cuts "${values.cuts}": must be a non-negative integer`)
    const checks = CHECKS.filter(({ name }) => name.includes(values.only))
    if (checks.length === 0) throw new UsageError(`No check name contains "${values.only}"`)
    const { baseUrl, token, client } = connectWith({ url: positionals[0] ?? values.url }, io)
    const probe = createProbe(baseUrl.replace(/\/+$/, ''), token, {
      cuts,
      signal: io.signal,
      random: Math.random,
    })
    // An unreachable server gives one message instead of fifteen.
    await client.call('me', { signal: io.signal })
    const verdicts: Verdict[] = []
    for (const { name, run } of checks) {
      const startedAt = performance.now()
      const judged = await run(probe).then(
        (detail): Pick<Verdict, 'verdict' | 'detail'> => ({ verdict: 'ok', detail }),
        (error: unknown): Pick<Verdict, 'verdict' | 'detail'> => ({
          verdict: error instanceof NotChecked ? 'skipped' : 'fail',
          detail: asError(error).message,
        }),
      )
      io.signal.throwIfAborted()
      verdicts.push({ check: name, ...judged, ms: Math.round(performance.now() - startedAt) })
      if (!values.json)
        io.out(
          `${MARK[judged.verdict]} ` +
            `${name}${judged.verdict === 'ok' ? ` (${judged.detail})` : `\n    ${judged.detail}`}\n`,
        )
    }
    const count = (wanted: Verdict['verdict']) => verdicts.filter(({ verdict }) => verdict === wanted).length
    const failed = count('fail')
    if (values.json)
      io.out(`${JSON.stringify({ url: baseUrl, passed: count('ok'), failed, checks: verdicts })}\n`)
    else io.note(`${baseUrl}: ${count('ok')} checks passed, ${failed} failed, ${count('skipped')} skipped`)
    return failed === 0 ? EXIT.ok.code : EXIT.failure.code
  },
})
