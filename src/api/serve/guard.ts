import type { RequestHandler } from 'express'
import type { Scope } from '../../core/merchants/access.js'

/** Makes the access check of an endpoint. */
export type Guard = (endpoint: { readonly method: string; readonly scope: Scope }) => RequestHandler
