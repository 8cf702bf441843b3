import type { RequestHandler } from 'express'
import type { Scope } from '../../core/merchants/access.js'

export type Guard = (endpoint: { readonly method: string; readonly scope: Scope }) => RequestHandler
