/** Artifacts on Postgres; changes run under the lock of their session. */
import type { ArtifactSpec } from '@cairn/protocol'
import { keyOf } from '../../engine/directory.ts'
import type { Resource } from '../../engine/resource.ts'
import type { Statement } from '../../postgres/connections.ts'
import {
  type ArtifactChange,
  type ArtifactReads,
  type EncodedArtifactChange,
  type StoredArtifact,
  toArtifactMeta,
} from './row.ts'

const ADD: Statement = {
  name: 'add_artifact',
  text: `
    INSERT INTO artifacts (org_key, session_key, number, artifact_id, name, kind, version, size, created_at,
      spec)
    SELECT $1, $2::bigint, coalesce(max(number), 0) + 1, $3, $4, $5, $6::bigint, $7::bigint, $8::bigint, $9
    FROM artifacts WHERE org_key = $1 AND session_key = $2`,
}
const ARTIFACTS: Statement = {
  name: 'artifacts',
  text: `
    SELECT artifact_id, name, kind, version, size, created_at FROM artifacts
    WHERE (org_key, session_key) = ${keyOf('$1')}
    ORDER BY created_at, number`,
}
const ARTIFACT: Statement = {
  name: 'artifact',
  text: `
    SELECT artifact_id, name, kind, version, size, created_at, spec FROM artifacts
    WHERE (org_key, session_key) = ${keyOf('$1')} AND artifact_id = $2`,
}

export const artifactsOnPostgres: Resource<ArtifactChange, ArtifactReads, EncodedArtifactChange>['postgres'] =
  {
    changes: {
      async 'artifact.add'(ask, { artifact, spec }, { row, at }) {
        const { artifact_id, name, kind, version, size } = artifact
        await ask(ADD, [row.org_key, row.key, artifact_id, name, kind, version, size, at, spec])
      },
    },

    store: ({ db }) => ({
      async list(sessionId) {
        const rows = await db.query(ARTIFACTS, [sessionId], { repeatable: true })
        return (rows as StoredArtifact[]).map(row => toArtifactMeta(row, sessionId))
      },
      async get(sessionId, artifactId) {
        const [row] = (await db.query(ARTIFACT, [sessionId, artifactId], {
          repeatable: true,
        })) as (StoredArtifact & { spec: string })[]
        return row === undefined
          ? null
          : { meta: toArtifactMeta(row, sessionId), spec: JSON.parse(row.spec) as ArtifactSpec }
      },
    }),
  }
