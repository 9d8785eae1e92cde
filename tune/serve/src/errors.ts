/** The response body of a failed request: the OpenAI-style error object, with vLLM's types and statuses. */

export type ErrorBody = { error: { message: string; type: string; param: string | null; code: number } }

export class ApiError extends Error {
  override name = 'ApiError'
  readonly status: number
  readonly type: string
  readonly param: string | null

  constructor(status: number, type: string, message: string, param: string | null = null) {
    super(message)
    this.status = status
    this.type = type
    this.param = param
  }
}

export const badRequest = (message: string, param: string | null = null) =>
  new ApiError(400, 'BadRequestError', message, param)
export const notFound = (message: string, param: string | null = null) =>
  new ApiError(404, 'NotFoundError', message, param)
export const unknownModel = (model: string) => notFound(`The model \`${model}\` does not exist.`, 'model')

export function errorBody(error: ApiError): ErrorBody {
  return { error: { message: error.message, type: error.type, param: error.param, code: error.status } }
}
