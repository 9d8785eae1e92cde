/** Explains why the service cannot listen, and what would help. */
import { InUseError } from '../exit.ts'

export function explainListen(
  error: NodeJS.ErrnoException,
  { host, port }: { host: string; port: number },
): Error {
  if (error.code === 'EADDRINUSE')
    return new InUseError(
      `Port ${port} of ${host} is in use by another process: stop that process, or set PORT to another port.`,
      { cause: error },
    )
  if (error.code === 'EACCES')
    return new InUseError(`This user may not listen on port ${port}: set PORT to a port above 1023.`, {
      cause: error,
    })
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND')
    return new InUseError(
      `This machine has no address ${host}: set HOST to 127.0.0.1, or to 0.0.0.0 for all addresses.`,
      { cause: error },
    )
  return error
}
