/** Artifacts of sessions: their data, by name and version. */
import type { ArtifactMeta, ArtifactSpec } from '@cairn/protocol'
import { redactString } from '../../engine/redact-json.ts'
import type { Resource } from '../../engine/resource.ts'

type NewArtifact = Omit<ArtifactMeta, 'session_id' | 'created_at'>
export type ArtifactChange = { do: 'artifact.add'; artifact: NewArtifact; spec: ArtifactSpec }
export type EncodedArtifactChange = { do: 'artifact.add'; artifact: NewArtifact; spec: string }

export interface ArtifactReads {
  list(sessionId: string): Promise<ArtifactMeta[]>
  get(sessionId: string, artifactId: string): Promise<{ meta: ArtifactMeta; spec: ArtifactSpec } | null>
}

export const artifactChanges: Resource<ArtifactChange, ArtifactReads, EncodedArtifactChange>['changes'] = {
  'artifact.add': {
    redact: ({ artifact, spec, ...change }, redact) => ({
      ...change,
      artifact: { ...artifact, name: redactString(redact, artifact.name) },
      spec: redact(JSON.stringify(spec)),
    }),
  },
}

/** An artifact as it is stored. */
export type StoredArtifact = Omit<ArtifactMeta, 'session_id' | 'created_at'> & { created_at: number }

export const toArtifactMeta = (row: StoredArtifact, sessionId: string): ArtifactMeta => ({
  artifact_id: row.artifact_id,
  session_id: sessionId,
  name: row.name,
  kind: row.kind,
  version: row.version,
  size: row.size,
  created_at: new Date(row.created_at).toISOString(),
})
