import { AppError } from '@cairn/protocol'
import type { Handler } from '../handler.ts'

/** Artifacts of a session. Their event carries metadata only; the body is fetched here (contract 4.9). */
export const listArtifacts: Handler<'listArtifacts'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  return { artifacts: await services.store.artifacts.list(params.id) }
}

export const getArtifact: Handler<'getArtifact'> = async ({ services, principal, params }) => {
  await services.guard.check(principal, params.id)
  const found = await services.store.artifacts.get(params.id, params.artifact_id)
  if (found === null)
    throw new AppError('not_found', `Artifact ${params.artifact_id.slice(0, 128)} not found in this session.`)
  return found
}
