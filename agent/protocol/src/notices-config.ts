/** What the operator says of notices: whom the service may call and mail because somebody wants to be told. */
import { z } from 'zod'
import { mailAddress, SmtpServer } from './email-config.ts'

/** Where webhooks may go is `egress`, in the words of governance. */
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
