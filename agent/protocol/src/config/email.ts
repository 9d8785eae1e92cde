/** Configuration of mail servers, for the email channel and for notifications. */
import { z } from 'zod'

const LOOPBACK = ['localhost', '127.0.0.1', '::1']

const keys = {
  host: z.string().min(1).describe('name or address of the server'),
  port: z.int().min(1).max(65_535).optional(),
  security: z
    .enum(['tls', 'starttls', 'none'])
    .default('tls')
    .describe('none: only for a server on this machine'),
  user: z.string().min(1).optional(),
  password_env: z
    .string()
    .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable')
    .optional()
    .describe('holds the password of the user, often an app password'),
}
const isPrivate = ({ host, security }: { host: string; security: string }): boolean =>
  security !== 'none' || LOOPBACK.includes(host)
const PRIVATE = { path: ['security'], error: 'may be none only if the host is this machine' }
const isPaired = ({
  user,
  password_env,
}: {
  user?: string | undefined
  password_env?: string | undefined
}): boolean => (user === undefined) === (password_env === undefined)
const PAIRED = { path: ['user'], error: 'must be set together with password_env' }

/** The default port is 993 with TLS, otherwise 143. */
export const ImapServer = z
  .strictObject({
    ...keys,
    user: keys.user.nonoptional(),
    password_env: keys.password_env.nonoptional(),
    mailbox: z.string().min(1).default('INBOX'),
  })
  .refine(isPrivate, PRIVATE)
export type ImapServer = z.infer<typeof ImapServer>

/** The default port is 465 with TLS, otherwise 587. */
export const SmtpServer = z.strictObject(keys).refine(isPrivate, PRIVATE).refine(isPaired, PAIRED)
export type SmtpServer = z.infer<typeof SmtpServer>

export const emailAddress = z.email('must be an email address').transform(address => address.toLowerCase())
