/** create_artifact: an artifact shown in the chat: a document, table, chart, page, drawing or image. */
import { type EventWithRows, type LogStore, withRows } from '@cairn/log'
import { type ArtifactMeta, ArtifactSpec } from '@cairn/protocol'
import { locate } from '@cairn/workspace'
import { z } from 'zod'
import { artifactCreated } from './events.ts'
import { defineTool } from './parameters.ts'
import type { Tool } from './tool.ts'

const MAX_ARTIFACT_BYTES = 500 * 1024
const MAX_ARTIFACTS = 200

/** The image's path relative to the workspace, after checking that the file exists. */
async function imagePath(workspace: string, given: string): Promise<string> {
  await using found = await locate(workspace, given, 'read')
  const { stats, shown } = found
  if (stats?.isFile() !== true) throw new Error(`no image file '${shown}' in the workspace`)
  return shown
}

export const createArtifactTool = (
  store: { artifacts: Pick<LogStore['artifacts'], 'list'> },
  newId: () => string,
): Tool =>
  defineTool({
    name: 'create_artifact',
    description:
      'Show something in the chat: kind markdown, table, chart, html, svg, or image (a file of the ' +
      'workspace). Reuse a name to create its next version.',
    parameters: z.strictObject({ name: z.string().min(1).max(120), spec: ArtifactSpec }),
    readOnly: false,
    changesSessionOnly: true,
    // The artifact is created in the commit of its result, so neither exists without the other.
    idempotent: true,
    async run({ name, spec: given }, { session_id, tool_call_id, workspace }) {
      const spec = given.kind === 'image' ? { ...given, path: await imagePath(workspace, given.path) } : given
      const { artifact, created } = await composeArtifact(
        store,
        newId,
        { session_id, tool_call_id },
        name,
        spec,
      )
      return { content: { ...artifact }, events: [created] }
    },
  })

type NewArtifact = Pick<ArtifactMeta, 'artifact_id' | 'name' | 'kind' | 'version' | 'size'>

/** The next version of that name; its row is part of the event's commit. Throws above the limits. */
export async function composeArtifact(
  store: { artifacts: Pick<LogStore['artifacts'], 'list'> },
  newId: () => string,
  { session_id, tool_call_id }: { session_id: string; tool_call_id: string },
  name: string,
  spec: ArtifactSpec,
): Promise<{ artifact: NewArtifact; created: EventWithRows }> {
  const size = Buffer.byteLength(JSON.stringify(spec))
  if (size > MAX_ARTIFACT_BYTES)
    throw new Error(`the artifact has ${size} bytes; at most ${MAX_ARTIFACT_BYTES} are kept`)
  const known = await store.artifacts.list(session_id)
  if (known.length >= MAX_ARTIFACTS)
    throw new Error(`this session has ${known.length} artifacts already; at most ${MAX_ARTIFACTS} are kept`)
  const versions = known
    .filter(each => each.name === name && each.kind === spec.kind)
    .map(({ version }) => version)
  const version = 1 + Math.max(0, ...versions)
  const artifact = { artifact_id: newId(), name, kind: spec.kind, version, size }
  const created = artifactCreated({ ...artifact, tool_call_id, originating_session_id: session_id })
  return { artifact, created: withRows(created, { do: 'artifact.add', artifact, spec }) }
}
