/** Configuration of notifications: which webhooks and email servers the service may use to notify people. */
import { z } from 'zod'
import { emailAddress, SmtpServer } from './email.ts'

/** `egress` uses the governance syntax and restricts targets of webhooks and Web Push. */
export const notificationsConfig = <E extends z.ZodType>(egress: E) =>
  z.strictObject({
    webhook: z.boolean().default(true).describe('whether users may register a webhook'),
    push: z.boolean().default(true).describe('whether users may turn on Web Push in a browser'),
    egress,
    mail: z
      .strictObject({
        smtp: SmtpServer,
        from: emailAddress.describe('address that sends the notifications'),
        name: z.string().min(1).max(100).default('Cairn').describe('sender name of the emails'),
      })
      .optional()
      .describe('absent: no notifications by email'),
  })
