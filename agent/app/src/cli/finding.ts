/** One thing that `cairn doctor` looked at. */
type Verdict = 'ok' | 'warn' | 'fail'
export type Finding = { check: string; verdict: Verdict; detail: string }
