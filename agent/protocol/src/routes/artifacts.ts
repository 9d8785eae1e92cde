/** Routes of artifacts. */
import { z } from 'zod'
import { ArtifactMeta, ArtifactSpec } from '../resources/artifacts.ts'
import { onSession } from './fields.ts'
import type { Route } from './route.ts'

export const ARTIFACT_ROUTES = {
  listArtifacts: {
    method: 'GET',
    path: '/sessions/{id}/artifacts',
    summary: 'List artifacts, oldest first',
    ...onSession,
    status: 200,
    answer: z.object({ artifacts: z.array(ArtifactMeta) }),
  },
  getArtifact: {
    method: 'GET',
    path: '/sessions/{id}/artifacts/{artifact_id}',
    summary: 'Get an artifact with its body',
    ...onSession,
    status: 200,
    answer: z.object({ meta: ArtifactMeta, spec: ArtifactSpec }),
  },
} as const satisfies Record<string, Route>
