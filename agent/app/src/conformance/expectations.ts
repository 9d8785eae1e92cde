/** Messages that compare the expected with the actual result. */
import { isDeepStrictEqual } from 'node:util'

export type Answer = { status: number; headers: Headers; text: string; json: Record<string, unknown> }

/** The server's behavior differs from the promise. */
class ExpectationFailed extends Error {
  override readonly name = 'ExpectationFailed'
}
/** The check cannot run with this token. */
export class NotChecked extends Error {
  override readonly name = 'NotChecked'
}

const brief = (value: unknown): string => {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text === undefined ? 'nothing' : text.length > 300 ? `${text.slice(0, 300)}…` : text
}
export function expectEqual(what: string, got: unknown, wanted: unknown): void {
  if (!isDeepStrictEqual(got, wanted))
    throw new ExpectationFailed(`${what}: expected ${brief(wanted)}, got ${brief(got)}`)
}
export function expectTrue(what: string, met: boolean): void {
  if (!met) throw new ExpectationFailed(what)
}
/** Expects an RFC 9457 problem with this status and code. */
export function expectProblem(what: string, answer: Answer, status: number, code: string): void {
  expectEqual(`${what}: status and code`, [answer.status, answer.json['code']], [status, code])
  expectTrue(
    `${what}: content-type: expected application/problem+json, got ${answer.headers.get('content-type')}`,
    answer.headers.get('content-type')?.startsWith('application/problem+json') === true,
  )
  for (const key of ['type', 'title', 'detail', 'request_id'])
    expectTrue(
      `${what}: the problem has no text in ${key}`,
      typeof answer.json[key] === 'string' && answer.json[key] !== '',
    )
  expectEqual(`${what}: status in the document`, answer.json['status'], status)
}
