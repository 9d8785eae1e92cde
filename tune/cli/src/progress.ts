/**
 * Progress of a run's steps: one line redrawn on a terminal, a line now and then elsewhere, JSON for
 * machines.
 */
import { bytesText, type StepMetrics } from '@cairn-tune/train'
import type { CommandIo } from './command.ts'

export type ProgressView = {
  note: (line: string) => void
  step: (metrics: StepMetrics) => void
  /** Ends the line, which stays visible. */ end: () => void
}

const BAR = 20
/** Seconds between two lines if stderr is not a terminal. */
const QUIET_SECONDS = 10

export function showProgress(
  { out, note, terminal }: Pick<CommandIo, 'out' | 'note' | 'terminal'>,
  { json }: { json: boolean },
): ProgressView {
  let isDrawn = false
  let recent: number[] = []
  let unsaid = Infinity
  const wipe = () => {
    if (isDrawn) terminal?.write('\r\u001b[K')
    isDrawn = false
  }
  return {
    note: line => {
      wipe()
      note(line)
    },
    step: metrics => {
      recent = [...recent, metrics.seconds].slice(-20)
      if (json) out(`${JSON.stringify(metrics)}\n`)
      const line = stepLine(metrics, median(recent))
      if (terminal) {
        wipe()
        terminal.write(line.slice(0, Math.max(20, terminal.columns - 1)))
        isDrawn = true
        return
      }
      unsaid += metrics.seconds
      if (unsaid < QUIET_SECONDS && metrics.step !== metrics.total_steps) return
      unsaid = 0
      if (!json) note(line)
    },
    end: () => {
      if (isDrawn) terminal?.write('\n')
      isDrawn = false
    },
  }
}

const median = (values: readonly number[]) =>
  values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

/** `[██████··············] step 12/40  loss 1.2345  norm 0.92  8.1k tokens/s  eta 3m12s  1.21 GiB`. */
export function stepLine(
  { step, total_steps: total, loss, grad_norm: norm, tokens_per_second: speed, rss_bytes: rss }: StepMetrics,
  stepSeconds: number,
): string {
  const filled = Math.round((BAR * step) / total)
  const rate = speed >= 1000 ? `${(speed / 1000).toFixed(1)}k` : speed.toFixed(0)
  return (
    `[${'█'.repeat(filled)}${'·'.repeat(BAR - filled)}] step ${step}/${total}  loss ` +
    `${loss.toFixed(4)}  norm ${norm.toFixed(2)}  ${rate} tokens/s  eta ` +
    `${durationText((total - step) * stepSeconds)}  ${bytesText(rss)}`
  )
}

/** `45s`, `3m12s`, `2h05m`. */
export function durationText(seconds: number): string {
  const whole = Math.round(seconds)
  const two = (value: number) => String(value).padStart(2, '0')
  if (whole < 60) return `${whole}s`
  if (whole < 3600) return `${Math.floor(whole / 60)}m${two(whole % 60)}s`
  return `${Math.floor(whole / 3600)}h${two(Math.floor((whole % 3600) / 60))}m`
}
