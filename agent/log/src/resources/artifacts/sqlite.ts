/** Artifacts on the embedded store. */
import type { ArtifactSpec } from '@cairn/protocol'
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
      INSERT INTO artifacts (session_key, artifact_id, name, kind, version, size, created_at, spec)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`)
    return {
      'artifact.add'({ artifact, spec }, { row, at }) {
        const { artifact_id, name, kind, version, size } = artifact
        add.run(row.key, artifact_id, name, kind, version, size, at, spec)
      },
    }
  },

  reads(db) {
    const artifacts = db.prepare(`
      SELECT artifact_id, name, kind, version, size, created_at FROM artifacts
      WHERE session_key = (SELECT key FROM sessions WHERE id = ?)
      ORDER BY created_at, rowid`)
    const artifact = db.prepare(`
      SELECT artifact_id, name, kind, version, size, created_at, spec FROM artifacts
      WHERE session_key = (SELECT key FROM sessions WHERE id = ?) AND artifact_id = ?`)
    return {
      listArtifacts: sessionId =>
        (artifacts.all(sessionId) as StoredArtifact[]).map(row => toArtifactMeta(row, sessionId)),
      getArtifact(sessionId, artifactId) {
        const row = artifact.get(sessionId, artifactId) as (StoredArtifact & { spec: string }) | undefined
        return row === undefined
          ? null
          : { meta: toArtifactMeta(row, sessionId), spec: JSON.parse(row.spec) as ArtifactSpec }
      },
    }
  },
}
