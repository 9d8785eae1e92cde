/**
 * The part of vitest's API that the kernel tests use, in plain Node: vitest itself needs native parts for the
 * emulated processor and starts a process for each file. Anything else is undefined, so a test that uses it
 * fails instead of passing.
 */
import { inspect, isDeepStrictEqual } from 'node:util'

/** `errors` are the numbers that the test compared with a bound. */
export type TestResult = { name: string; failure?: unknown; errors: number[] }

type Body = (...args: unknown[]) => unknown
type Declare = (name: string, body: () => unknown) => void

const file = {
  tests: [] as [name: string, body: () => unknown][],
  before: [] as Body[],
  after: [] as Body[],
  scope: [] as string[],
  errors: [] as number[],
}

const addTest: Declare = (name, body) => void file.tests.push([[...file.scope, name].join(' > '), body])

const addScope: Declare = (name, body) => {
  file.scope.push(name)
  body()
  file.scope.pop()
}

const each = (declare: Declare) => (rows: readonly unknown[]) => (name: string, body: Body) => {
  for (const row of rows) {
    const args: unknown[] = Array.isArray(row) ? row : [row]
    let next = 0
    declare(
      name.replaceAll(/%[sid]/g, () => String(args[next++])),
      () => body(...args),
    )
  }
}

export const test = Object.assign(addTest, { each: each(addTest) })
export const describe = Object.assign(addScope, { each: each(addScope) })
export const beforeAll = (hook: Body): void => void file.before.push(hook)
export const afterAll = (hook: Body): void => void file.after.push(hook)

function check(isRight: boolean, ...message: (string | undefined)[]): void {
  if (!isRight) throw new Error(message.filter(part => part !== undefined).join(': '))
}

const isTensor = (value: unknown): value is Float64Array | Float32Array | Uint8Array =>
  value instanceof Float64Array || value instanceof Float32Array || value instanceof Uint8Array

// Tensors are long: report only the first number that differs.
function firstDifference(actual: unknown, expected: unknown): string {
  if (!isTensor(actual) || !isTensor(expected)) return `${String(actual)} is not ${String(expected)}`
  const at = expected.findIndex((value, i) => !Object.is(actual[i], value))
  return at < 0
    ? `${actual.length} numbers instead of ${expected.length}`
    : `number ${at} is ${actual[at]} instead of ${expected[at]}`
}

/** The message of the error that a function throws. */
function thrownMessage(body: unknown): string {
  try {
    ;(body as () => unknown)()
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
  return 'nothing'
}

export const expect = Object.assign(
  (actual: unknown, about?: string) => ({
    toBe: (expected: unknown) =>
      check(Object.is(actual, expected), about, `${inspect(actual)} is not ${inspect(expected)}`),
    toEqual: (expected: unknown) =>
      check(isDeepStrictEqual(actual, expected), about, firstDifference(actual, expected)),
    toBeLessThan(bound: number) {
      file.errors.push(Number(actual))
      check(Number(actual) < bound, about, `${String(actual)} is not below ${bound}`)
    },
    toBeLessThanOrEqual: (bound: number) =>
      check(Number(actual) <= bound, about, `${String(actual)} is above ${bound}`),
    toThrow: (text: string) =>
      check(thrownMessage(actual).includes(text), about, `${thrownMessage(actual)} was thrown, not ${text}`),
    toBeGreaterThan: (bound: number) =>
      check(Number(actual) > bound, about, `${String(actual)} is not above ${bound}`),
  }),
  { unreachable: (about: string) => check(false, about) },
)

/** Runs the tests that a file declares, one after the other. */
export async function runFile(url: string, onResult: (outcome: TestResult) => void): Promise<TestResult[]> {
  Object.assign(file, { tests: [], before: [], after: [], scope: [] })
  await import(url)
  if (file.tests.length === 0) throw new Error(`${url} has no tests.`)
  for (const hook of file.before) await hook()
  const outcomes: TestResult[] = []
  for (const [name, body] of file.tests) {
    file.errors = []
    const outcome: TestResult = { name, errors: file.errors }
    try {
      await body()
    } catch (failure) {
      outcome.failure = failure
    }
    outcomes.push(outcome)
    onResult(outcome)
  }
  for (const hook of file.after) await hook()
  return outcomes
}
