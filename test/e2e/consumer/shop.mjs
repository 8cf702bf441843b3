import express from 'express'
import { gatewayRouter, x402Protect } from 'express-x402-gateway'
import openShop from './routes.cjs'

openShop(express, { x402Protect, gatewayRouter })
