/** Artifacts on the embedded store. */
import type { ArtifactSpec } from '@cairn/protocol'
import { keyOf } from '../../engine/directory.ts'
import type { Resource } from '../../engine/resource.ts'
import {
  type ArtifactChange,
  type ArtifactReads,
  type EncodedArtifactChange,
  type StoredArtifact,
  toArtifactMeta,
} from './row.ts'

export const artifactsOnSqlite: Resource<ArtifactChange, ArtifactReads, EncodedArtifactChange>['sqlite'] = {
  changes(db) {
    const add = db.prepare(`
      INSERT INTO artifacts (org_key, session_key, number, artifact_id, name, kind, version, size, created_at,
        spec)
      SELECT ?1, ?2, coalesce(max(number), 0) + 1, ?3, ?4, ?5, ?6, ?7, ?8, ?9 FROM artifacts
      WHERE org_key = ?1 AND session_key = ?2`)
    return {
      'artifact.add'({ artifact, spec }, { row, at }) {
        const { artifact_id, name, kind, version, size } = artifact
        add.run(row.org_key, row.key, artifact_id, name, kind, version, size, at, spec)
      },
    }
  },

  reads(db) {
    const artifacts = db.prepare(`
      SELECT artifact_id, name, kind, version, size, created_at FROM artifacts
      WHERE (org_key, session_key) = ${keyOf('?')}
      ORDER BY created_at, number`)
    const artifact = db.prepare(`
      SELECT artifact_id, name, kind, version, size, created_at, spec FROM artifacts
      WHERE (org_key, session_key) = ${keyOf('?')} AND artifact_id = ?`)
    return {
      list: sessionId =>
        (artifacts.all(sessionId) as StoredArtifact[]).map(row => toArtifactMeta(row, sessionId)),
      get(sessionId, artifactId) {
        const row = artifact.get(sessionId, artifactId) as (StoredArtifact & { spec: string }) | undefined
        return row === undefined
          ? null
          : { meta: toArtifactMeta(row, sessionId), spec: JSON.parse(row.spec) as ArtifactSpec }
      },
    }
  },
}
