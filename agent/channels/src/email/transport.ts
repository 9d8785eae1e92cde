/** A connection to the mail server for outgoing emails. */
import type { SmtpServer } from '@cairn/protocol'
import { createTransport } from 'nodemailer'

const CONNECT_MS = 15_000
const ANSWER_MS = 60_000

export type Smtp = SmtpServer & { password: string | null }

export const openTransport = ({ host, port, security, user, password }: Smtp) =>
  createTransport({
    host,
    port: port ?? (security === 'tls' ? 465 : 587),
    secure: security === 'tls',
    requireTLS: security === 'starttls',
    ignoreTLS: security === 'none',
    ...(user === undefined || password === null ? {} : { auth: { user, pass: password } }),
    connectionTimeout: CONNECT_MS,
    greetingTimeout: CONNECT_MS,
    socketTimeout: ANSWER_MS,
  })
