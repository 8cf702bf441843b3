/** An MCP server with all that the server suite of `@modelcontextprotocol/conformance` calls by name. */
import { completable } from '@modelcontextprotocol/sdk/server/completable.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import type { RequestHandlerExtra } from '@modelcontextprotocol/sdk/shared/protocol.js'
import {
  CreateMessageResultSchema,
  ElicitResultSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import type {
  CallToolResult,
  ElicitRequestFormParams,
  ServerNotification,
  ServerRequest,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'

type Extra = RequestHandlerExtra<ServerRequest, ServerNotification>

export interface DeclaredTool {
  readonly name: string
  readonly description: string
  readonly input: Readonly<Record<string, z.ZodString>>
  readonly handler: (
    args: Readonly<Record<string, string>>,
    extra: Extra,
  ) => Promise<CallToolResult>
}

const PNG =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=='
const WAV = 'UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA='

const text = (words: string) => ({ type: 'text' as const, text: words })
const image = { type: 'image' as const, data: PNG, mimeType: 'image/png' }
const resource = (uri: string, mimeType: string, words: string) => ({
  type: 'resource' as const,
  resource: { uri, mimeType, text: words },
})

/** Asks the user of the client. */
async function elicit(
  { sendRequest }: Extra,
  message: string,
  properties: ElicitRequestFormParams['requestedSchema']['properties'],
): Promise<CallToolResult> {
  const requestedSchema = { type: 'object' as const, properties }
  const params = { message, requestedSchema }
  const { action, content } = await sendRequest(
    { method: 'elicitation/create', params },
    ElicitResultSchema,
  )
  return { content: [text(`action=${action}, content=${JSON.stringify(content)}`)] }
}

const choices = (...names: string[]) => names.map((name) => ({ const: name, title: `The ${name}` }))

type Handler = DeclaredTool['handler']
const handlers: Readonly<Record<string, Handler>> = {
  test_simple_text: async () => ({ content: [text('This is a simple text response.')] }),
  test_image_content: async () => ({ content: [image] }),
  test_audio_content: async () => ({
    content: [{ type: 'audio', data: WAV, mimeType: 'audio/wav' }],
  }),
  test_embedded_resource: async () => ({
    content: [resource('test://embedded-resource', 'text/plain', 'This is a resource.')],
  }),
  test_multiple_content_types: async () => ({
    content: [text('Several:'), image, resource('test://mixed', 'application/json', '{}')],
  }),
  async test_tool_with_logging(_args, { sendNotification }) {
    for (const data of ['started', 'processing', 'completed'])
      await sendNotification({ method: 'notifications/message', params: { level: 'info', data } })
    return { content: [text('logged')] }
  },
  async test_error_handling() {
    throw new Error('This tool intentionally returns an error for testing')
  },
  async test_tool_with_progress(_args, { sendNotification, _meta }) {
    const { progressToken } = _meta ?? {}
    if (progressToken === undefined) return { content: [text('nobody asks')] }
    for (const progress of [0, 50, 100])
      await sendNotification({
        method: 'notifications/progress',
        params: { progressToken, progress, total: 100 },
      })
    return { content: [text('reported')] }
  },
  async test_sampling({ prompt = '' }, { sendRequest }) {
    const messages = [{ role: 'user' as const, content: text(prompt) }]
    const params = { messages, maxTokens: 100 }
    const { content } = await sendRequest(
      { method: 'sampling/createMessage', params },
      CreateMessageResultSchema,
    )
    return { content: [text(`LLM response: ${JSON.stringify(content)}`)] }
  },
  test_elicitation: ({ message = '' }, extra) =>
    elicit(extra, message, { username: { type: 'string' }, email: { type: 'string' } }),
  test_elicitation_sep1034_defaults: (_args, extra) =>
    elicit(extra, 'Who is it?', {
      name: { type: 'string', default: 'John Doe' },
      age: { type: 'integer', default: 30 },
      score: { type: 'number', default: 95.5 },
      status: { type: 'string', enum: ['active', 'inactive', 'pending'], default: 'active' },
      verified: { type: 'boolean', default: true },
    }),
  test_elicitation_sep1330_enums: (_args, extra) =>
    elicit(extra, 'Which is it?', {
      untitledSingle: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      titledSingle: { type: 'string', oneOf: choices('value1', 'value2', 'value3') },
      legacyEnum: {
        type: 'string',
        enum: ['opt1', 'opt2', 'opt3'],
        enumNames: ['Option One', 'Option Two', 'Option Three'],
      },
      untitledMulti: {
        type: 'array',
        items: { type: 'string', enum: ['option1', 'option2', 'option3'] },
      },
      titledMulti: { type: 'array', items: { anyOf: choices('value1', 'value2', 'value3') } },
    }),
}

const inputs: Readonly<Record<string, DeclaredTool['input']>> = {
  test_sampling: { prompt: z.string() },
  test_elicitation: { message: z.string() },
}

export const conformanceTools: readonly DeclaredTool[] = Object.entries(handlers).map(
  ([name, handler]) => ({ name, description: name, input: inputs[name] ?? {}, handler }),
)

/** @param declare - Declares {@link conformanceTools}. */
export function openConformanceServer(declare: (server: McpServer) => void): McpServer {
  const capabilities = { logging: {}, resources: { subscribe: true } }
  const server = new McpServer({ name: 'conformance', version: '1.0.0' }, { capabilities })
  declare(server)
  declareResources(server)
  declarePrompts(server)
  return server
}

function declareResources(server: McpServer): void {
  const about = { description: 'A resource' }
  server.registerResource('text', 'test://static-text', about, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'This is a text.' }],
  }))
  server.registerResource('binary', 'test://static-binary', about, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'image/png', blob: PNG }],
  }))
  server.registerResource('watched', 'test://watched-resource', about, ({ href: uri }) => ({
    contents: [{ uri, mimeType: 'text/plain', text: 'It changes.' }],
  }))
  const template = new ResourceTemplate('test://template/{id}/data', { list: undefined })
  server.registerResource('template', template, about, ({ href: uri }, { id }) => ({
    contents: [{ uri, mimeType: 'application/json', text: JSON.stringify({ id }) }],
  }))
  server.server.setRequestHandler(SubscribeRequestSchema, () => ({}))
  server.server.setRequestHandler(UnsubscribeRequestSchema, () => ({}))
}

function declarePrompts(server: McpServer): void {
  const user = <Content>(content: Content) => ({ role: 'user' as const, content })
  const description = 'A prompt'
  server.registerPrompt('test_simple_prompt', { description }, () => ({
    messages: [user(text('This is a simple prompt.'))],
  }))
  const arg1 = completable(z.string(), (begun) => [`${begun}ed`])
  const withArguments = { description, argsSchema: { arg1, arg2: z.string() } }
  server.registerPrompt('test_prompt_with_arguments', withArguments, (args) => ({
    messages: [user(text(`arg1='${args.arg1}', arg2='${args.arg2}'`))],
  }))
  const embedding = { description, argsSchema: { resourceUri: z.string() } }
  server.registerPrompt('test_prompt_with_embedded_resource', embedding, ({ resourceUri }) => ({
    messages: [user(resource(resourceUri, 'text/plain', 'Embedded.')), user(text('Process it.'))],
  }))
  server.registerPrompt('test_prompt_with_image', { description }, () => ({
    messages: [user(image), user(text('Analyze it.'))],
  }))
}
