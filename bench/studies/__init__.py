"""Studies of single questions, each with a command of its own.

accuracy/  whether the model predicts times and traffic
searches/  how long searches take, and what they reach
kernels/   what single ideas in kernels gain
networks/  programs and whole models beside other libraries
"""
