/** Progress of an evaluation: one line redrawn on a terminal, a line now and then elsewhere. */
import type { EvalProgress } from '@cairn-tune/bench'
import type { CommandIo } from './command.ts'

export type AnswersView = { answers: (progress: EvalProgress, what?: string) => void; end: () => void }

const BAR = 20
/** If stderr is not a terminal, print a line after each of these shares. */
const QUIET_SHARE = 0.25

export function showAnswers({ note, terminal }: Pick<CommandIo, 'note' | 'terminal'>): AnswersView {
  let isDrawn = false
  let reported = 0
  return {
    answers: (progress, what) => {
      const line = `${what === undefined ? '' : `${what}: `}${answersLine(progress)}`
      if (terminal) {
        terminal.write(`\r\u001b[K${line.slice(0, Math.max(20, terminal.columns - 1))}`)
        isDrawn = true
        return
      }
      const share = progress.done / progress.total
      if (share < reported) reported = 0
      if (share < 1 && share < reported + QUIET_SHARE) return
      reported = share
      note(line)
    },
    end: () => {
      if (isDrawn) terminal?.write('\n')
      isDrawn = false
    },
  }
}

/** `[██████··············] 120/500  accuracy 0.4583`. */
function answersLine({ done, total, correct }: EvalProgress): string {
  const filled = Math.round((BAR * done) / total)
  return (
    `[${'█'.repeat(filled)}${'·'.repeat(BAR - filled)}] ` +
    `${done}/${total}${done > 0 ? `  accuracy ${(correct / done).toFixed(4)}` : ''}`
  )
}
