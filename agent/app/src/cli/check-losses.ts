/** Reports what a data directory has lost of its log, as findings of `cairn doctor`. */
import { describeLoss, readLosses } from '@cairn/log'

type Finding = { verdict: 'warn' | 'fail'; detail: string }

/** Throws DamagedStore. */
export function checkLosses(dataDir: string): Finding[] {
  const { missing, past } = readLosses(dataDir)
  return [
    ...(missing === null
      ? []
      : [
          {
            verdict: 'fail' as const,
            detail:
              `${describeLoss(missing)}. If you have a better copy of cairn.db and cairn.db-wal, ` +
              'restore it before the next start, which continues without them',
          },
        ]),
    ...past.map(loss => ({
      verdict: 'warn' as const,
      detail: `found at the start of ${new Date(loss.found_at).toISOString()}: ${describeLoss(loss)}`,
    })),
  ]
}
