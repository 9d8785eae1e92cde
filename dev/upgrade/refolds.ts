/**
 * Whether runners of two versions make each other fold whole logs again: a snapshot of one version is
 * useless to the other, so a wake may replace it once.
 */
import { querySql, runSql } from '@cairn/log/test/postgres-place'
import type { SessionEvent } from '@cairn/protocol'

/** Records each snapshot that a runner saves, in the database of the rehearsal only. */
const COUNT_FOLDS = `
  CREATE TABLE rehearsal_folds (
    n BIGSERIAL PRIMARY KEY, org_key BIGINT, session_key BIGINT, version TEXT, last_id BIGINT);
  CREATE FUNCTION rehearsal_fold() RETURNS trigger LANGUAGE plpgsql AS $$
  BEGIN
    INSERT INTO rehearsal_folds (org_key, session_key, version, last_id)
    VALUES (NEW.org_key, NEW.session_key, NEW.version, NEW.last_id);
    RETURN NULL;
  END $$;
  CREATE TRIGGER rehearsal_folds AFTER INSERT OR UPDATE ON snapshots
    FOR EACH ROW EXECUTE FUNCTION rehearsal_fold()`
const SAVED_FOLDS = `
  SELECT s.id, f.version, f.last_id FROM rehearsal_folds f
  JOIN sessions s ON s.org_key = f.org_key AND s.key = f.session_key ORDER BY f.n`

/** A snapshot as it was saved: the version of its fold, and the last event in it. */
export type SavedFold = { version: string; last_id: number }

export const recordFolds = (place: string): Promise<void> => runSql(place, COUNT_FOLDS)

/** The saved snapshots by session, in order. */
export async function readFolds(place: string): Promise<Map<string, SavedFold[]>> {
  const folds = new Map<string, SavedFold[]>()
  for (const row of await querySql(place, SAVED_FOLDS)) {
    const id = String(row['id'])
    const fold = { version: String(row['version']), last_id: Number(row['last_id']) }
    folds.set(id, [...(folds.get(id) ?? []), fold])
  }
  return folds
}

export type Refolds = {
  snapshots: number
  /** Snapshots that replaced one of another version: each stands for one fold of the whole log. */
  refolds: number
  wakes: number
  /** The most of them within one wake. */
  mostInOneWake: number
}

export function countRefolds(log: readonly SessionEvent[], saved: readonly SavedFold[]): Refolds {
  const wakes = log.filter(({ type }) => type === 'harness.wake').map(({ id }) => id)
  const replaced = saved.filter(({ version }, at) => at > 0 && version !== saved[at - 1]?.version)
  const perWake = new Map<number, number>()
  for (const { last_id } of replaced) {
    const wake = wakes.findLast(id => id <= last_id) ?? 0
    perWake.set(wake, (perWake.get(wake) ?? 0) + 1)
  }
  return {
    snapshots: saved.length,
    refolds: replaced.length,
    wakes: wakes.length,
    mostInOneWake: Math.max(0, ...perWake.values()),
  }
}
