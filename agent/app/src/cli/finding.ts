/** One thing that `cairn doctor` looked at. */
export type Verdict = 'ok' | 'warn' | 'fail'
export type Finding = { check: string; verdict: Verdict; detail: string }
