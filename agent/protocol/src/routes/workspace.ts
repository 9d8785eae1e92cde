/** Routes of a session's files. */
import { z } from 'zod'
import { Attachment } from '../events/index.ts'
import { onSession } from './fields.ts'
import type { Route } from './route.ts'

const FileEntry = z.object({
  path: z.string().describe('relative to the workspace'),
  kind: z.enum(['file', 'dir']),
  size: z.int().optional(),
})

export const WORKSPACE_ROUTES = {
  workspaceTree: {
    method: 'GET',
    path: '/sessions/{id}/workspace/tree',
    summary: 'List the files of the workspace',
    ...onSession,
    status: 200,
    answer: z.object({ entries: z.array(FileEntry), truncated: z.boolean() }),
  },
  workspaceFile: {
    method: 'GET',
    path: '/sessions/{id}/workspace/file',
    errors: ['wrong_target'],
    summary: 'Get a file of the workspace',
    ...onSession,
    query: z.object({ path: z.string().min(1) }),
    status: 200,
    answer: z.object({
      path: z.string(),
      size: z.int(),
      encoding: z.enum(['utf-8', 'base64']),
      content: z.string(),
      truncated: z.boolean(),
    }),
  },
  putWorkspaceFile: {
    method: 'POST',
    path: '/sessions/{id}/workspace/file',
    errors: ['wrong_target'],
    summary: 'Upload a file to the workspace, to attach it to a message',
    ...onSession,
    creates: true,
    body: z.strictObject({
      filename: z.string().min(1).max(200).describe('name of the file, which is stored below uploads/'),
      content: z.base64().describe('its bytes'),
      mime_type: z.string().max(200).optional(),
    }),
    status: 201,
    answer: Attachment,
  },
  workspaceCheckpoint: {
    method: 'GET',
    path: '/sessions/{id}/workspace/checkpoints/{hash}',
    summary: 'Get the files as they were before a call changed them (checkpoint_hash of its tool.call)',
    ...onSession,
    status: 200,
    answer: z.object({
      files: z.array(
        z.object({
          path: z.string(),
          existed: z.boolean(),
          size: z.int(),
          content: z.string().nullable().describe('its text; null if it is not text, or too long'),
        }),
      ),
    }),
  },
} as const satisfies Record<string, Route>
