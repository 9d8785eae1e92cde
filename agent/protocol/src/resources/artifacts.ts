/** Artifacts in API responses: their metadata, and their body by kind. */
import { z } from 'zod'
import { ARTIFACT_KINDS } from '../events/index.ts'
import { count, timestamp } from './fields.ts'

export const ArtifactMeta = z
  .object({
    artifact_id: z.string(),
    session_id: z.string(),
    name: z.string(),
    kind: z.enum(ARTIFACT_KINDS),
    version: z.int(),
    size: count,
    created_at: timestamp,
  })
  .meta({ id: 'ArtifactMeta' })
export type ArtifactMeta = z.infer<typeof ArtifactMeta>

/**
 * The body of an artifact, by kind. `image` names a file of the workspace. Limits: 500 KB, 200 a session,
 * tables 2000 × 50.
 */
export const ArtifactSpec = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('markdown'), content: z.string() }),
  z.strictObject({
    kind: z.literal('table'),
    columns: z.array(z.string()).min(1).max(50),
    rows: z.array(z.array(z.union([z.string(), z.number(), z.boolean(), z.null()]))).max(2000),
    caption: z.string().optional(),
  }),
  z.strictObject({
    kind: z.literal('chart'),
    chart: z.strictObject({
      type: z.enum(['bar', 'line', 'pie', 'doughnut', 'scatter']),
      labels: z.array(z.string()),
      datasets: z.array(z.strictObject({ label: z.string(), data: z.array(z.number()) })),
    }),
    caption: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal('html'), html: z.string(), caption: z.string().optional() }),
  z.strictObject({ kind: z.literal('svg'), svg: z.string(), caption: z.string().optional() }),
  z.strictObject({
    kind: z.literal('image'),
    path: z.string(),
    mime_type: z.string().optional(),
    caption: z.string().optional(),
  }),
])
export type ArtifactSpec = z.infer<typeof ArtifactSpec>
