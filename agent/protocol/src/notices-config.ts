/** Configuration of notifications: which webhooks and email servers the service may use to notify people. */
import { z } from 'zod'
import { mailAddress, SmtpServer } from './email-config.ts'

/** `egress` uses the governance syntax and restricts webhook targets. */
export const noticesConfig = <E extends z.ZodType>(egress: E) =>
  z.strictObject({
    webhook: z.boolean().default(true).describe('whether people may have a webhook called'),
    egress,
    mail: z
      .strictObject({
        smtp: SmtpServer,
        from: mailAddress.describe('from which notices come'),
        name: z.string().min(1).max(100).default('Cairn').describe('as people read whom a mail is from'),
      })
      .optional()
      .describe('absent: no notice goes by mail'),
  })
