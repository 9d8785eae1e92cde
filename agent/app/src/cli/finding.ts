/** One result of `cairn doctor`. */
type Verdict = 'ok' | 'warn' | 'fail'
export type Finding = { check: string; verdict: Verdict; detail: string }
