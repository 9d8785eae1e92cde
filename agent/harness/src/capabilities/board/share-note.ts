/** share_note and read_board: short notes between the sessions of a tree. */
import { NOTE_TYPES, noteId } from '@cairn/log'
import { admit, BOARD_WINDOW_MS, boardNote, isLive, lineOf } from '@cairn/sessions'
import { z } from 'zod'
import type { SpawnContext } from '../coordination/spawn-context.ts'
import { defineTool } from '../../tools/parameters.ts'
import type { Tool, ToolOutcome } from '../../tools/tool.ts'

const Note = z.strictObject({
  type: z
    .enum(NOTE_TYPES)
    .describe(
      'FACT: something found; FAIL: what was tried and does not work; CLAIM: what you are about to do, for ' +
        'a limited time; RESULT: what you have made',
    ),
  content: z.string().max(4000).describe('one line of at most 200 characters, or 400 for a RESULT'),
  ref: z.string().max(1000).optional().describe('a workspace file, an artifact or a URL'),
  ttl_s: z.int().positive().optional().describe('how long a CLAIM is valid: 30 to 3600 seconds, default 300'),
})
const Parameters = z.strictObject({ notes: z.array(Note).min(1).max(5) })
type Args = z.output<typeof Parameters>

export const shareNoteTool = (place: SpawnContext): Tool =>
  defineTool({
    name: 'share_note',
    description:
      'Leave short notes for the other sessions that work on the same task: they read them before their ' +
      'next step. Claim what you are about to do if another session could do it too.',
    parameters: Parameters,
    readOnly: false,
    changesSessionOnly: true,
    idempotent: true,
    run: args => share(place, args),
  })

/** Rebuilds and retries the commit while others write. */
async function share(place: SpawnContext, args: Args): Promise<ToolOutcome> {
  const { runner, session, root_id } = place
  if (place.link === null && !place.claimed.log.position().board.shared)
    return { content: { error: 'no other session can read the board yet: it starts with the first worker' } }
  const board = await runner.store.board.read(root_id)
  const now = runner.clock.now()
  const before = await runner.store.board.countSince(root_id, session.id, now - BOARD_WINDOW_MS)
  const { change, admitted, renewed, rejected } = admit(
    board,
    { writer_id: session.id, before },
    args.notes,
    now,
    text => runner.redact(JSON.stringify(text)) !== JSON.stringify(text),
  )
  const shown = [...admitted, ...renewed].map(({ index, seq }) => ({ index, id: noteId(seq) }))
  const notes = admitted.map(({ seq, note: { type, content, ref, ttl_ms } }) => ({
    id: noteId(seq),
    type,
    content,
    ...(ref === null ? {} : { ref }),
    ...(ttl_ms === null ? {} : { ttl_seconds: ttl_ms / 1000 }),
  }))
  return {
    content: { admitted: shown, rejected },
    events: notes.length === 0 ? [] : [boardNote({ group_id: root_id, notes })],
    linked:
      shown.length === 0
        ? {}
        : {
            rows: [{ do: 'board.add', root_id, last_seq: board.last_seq, writer_id: session.id, ...change }],
          },
    refused: ({ refusal }) => (refusal === 'tree_moved' ? share(place, args) : Promise.resolve(null)),
  }
}

const ReadParameters = z.strictObject({ types: z.array(z.enum(NOTE_TYPES)).optional() })

export const readBoardTool = ({ runner, root_id }: SpawnContext): Tool =>
  defineTool({
    name: 'read_board',
    description: 'Read all notes that the sessions of this tree have shared and that are still valid.',
    parameters: ReadParameters,
    readOnly: true,
    idempotent: true,
    async run({ types = [] }) {
      const { notes } = await runner.store.board.read(root_id)
      const now = runner.clock.now()
      return {
        content: {
          notes: notes
            .filter(note => isLive(note, now) && (types.length === 0 || types.includes(note.type)))
            .map(note => lineOf(root_id, note)),
        },
      }
    },
  })
