"""Chainer adapter."""
